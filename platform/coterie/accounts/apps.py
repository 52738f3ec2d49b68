"""The app of operators."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Operators and API tokens."""

    name = "coterie.accounts"
