"""Other releases of the agent: fetched, verified, installed beside the running one."""
