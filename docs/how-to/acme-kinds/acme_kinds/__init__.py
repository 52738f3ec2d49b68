"""ACME's own way to learn: a kind that runs on devices, and one that runs on the platform."""
