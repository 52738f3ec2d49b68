"""Pure jobs in a process of their own, with limits on time, memory and files, that dies with its parent."""
