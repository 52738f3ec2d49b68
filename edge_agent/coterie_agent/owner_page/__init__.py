"""The pages that the agent serves its owner, in a browser on the same machine."""
