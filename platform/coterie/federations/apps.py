"""Federations as a Django app."""

from django.apps import AppConfig


class FederationsConfig(AppConfig):
    """Federations and their plans."""

    name = "coterie.federations"
