"""Tells other programs what happened: signed, tried again until it arrives, and logged."""
