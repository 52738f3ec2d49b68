"""Vertical learning with another party: its columns, its half of the network, and its letters."""
