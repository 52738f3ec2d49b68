"""Federated evaluation: a sample of devices measures a version on their own samples."""
