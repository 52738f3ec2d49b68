"""Attacks on the privacy of a plan, run in simulation: their success with and without its privacy kind."""
