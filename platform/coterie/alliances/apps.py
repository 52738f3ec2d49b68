"""Alliances as a Django app."""

from django.apps import AppConfig


class AlliancesConfig(AppConfig):
    """Alliances, their parties, and letters on their way."""

    name = "coterie.alliances"
