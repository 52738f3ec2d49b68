"""Transfers as a Django app."""

from django.apps import AppConfig


class TransferConfig(AppConfig):
    """Profiles, help requests and transfers."""

    name = "coterie.transfer"
