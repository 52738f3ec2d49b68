"""Rounds, assignments and updates: the durable state machine."""
