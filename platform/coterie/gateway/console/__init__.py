"""The console's socket: a snapshot of what matters now, then events that keep it true."""
