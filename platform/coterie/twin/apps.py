"""The twin as a Django app."""

from django.apps import AppConfig


class TwinConfig(AppConfig):
    """Forecasts of rounds, and their accuracy."""

    name = "coterie.twin"
