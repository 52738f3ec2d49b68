"""Repairs as a Django app."""

from django.apps import AppConfig


class RepairsConfig(AppConfig):
    """Faults that operators do not want to see for a while."""

    name = "coterie.repairs"
