"""Releases of the agent installed side by side: which one runs, and how one replaces another."""
