"""Attacks on the privacy of a plan, tried in simulation: what they win with it, and without its privacy."""
