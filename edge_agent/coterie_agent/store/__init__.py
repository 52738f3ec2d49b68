"""Durable state: one SQLite file, written so that a power failure loses no acknowledged work."""
