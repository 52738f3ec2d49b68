"""Rounds as a Django app."""

from django.apps import AppConfig


class RoundsConfig(AppConfig):
    """Rounds, assignments, uploads and updates."""

    name = "coterie.rounds"
