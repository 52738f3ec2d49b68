"""Releases of the agent: their signed repository, and how they reach the fleet."""
