"""Privacy budgets as a Django app."""

from django.apps import AppConfig


class PrivacyConfig(AppConfig):
    """The ledger of differential privacy."""

    name = "coterie.privacy"
