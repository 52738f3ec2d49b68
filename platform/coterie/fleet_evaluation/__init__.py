"""Federated evaluation: a sample of devices measures a version on samples of their own."""
