"""Delivers events to other programs: signed, retried until they arrive, and logged."""
