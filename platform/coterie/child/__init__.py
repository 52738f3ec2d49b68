"""Pure jobs in separate processes, with limits on time, memory and files, that end with their parent."""
