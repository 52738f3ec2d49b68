"""Secure sums as a Django app."""

from django.apps import AppConfig


class SecureSumsConfig(AppConfig):
    """The steps of secure aggregation."""

    name = "coterie.secure_sums"
