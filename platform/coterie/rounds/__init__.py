"""Rounds: cohorts, phases, assignments and deadlines, as a durable state machine."""
