"""Federations: which devices learn which pair together, under which plan."""
