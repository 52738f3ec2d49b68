"""Logs of devices: asked for by operators, allowed by owners, kept for a while."""
