"""Seeding as a Django app: it brings the command."""

from django.apps import AppConfig


class SeedingConfig(AppConfig):
    """Registers no tables."""

    name = "coterie.seeding"
