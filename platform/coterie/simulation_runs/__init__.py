"""Runs of simulated fleets that engineers request from a platform, and its workers perform."""
