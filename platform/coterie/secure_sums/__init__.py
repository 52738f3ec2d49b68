"""Secure aggregation: the platform relays between the devices of a cohort, and learns only the sum of their updates."""
