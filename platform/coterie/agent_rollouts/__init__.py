"""Releases of the agent on their way to the fleet."""
