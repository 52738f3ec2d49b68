"""Runs of simulated fleets that engineers ask a platform for, and its workers perform."""
