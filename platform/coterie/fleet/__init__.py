"""Devices: enrolment, credentials, presence, conditions, metadata."""
