"""Owners of devices as a Django app."""

from django.apps import AppConfig


class OwnersConfig(AppConfig):
    """What owners may see of their devices, and what they have had forgotten."""

    name = "coterie.owners"
