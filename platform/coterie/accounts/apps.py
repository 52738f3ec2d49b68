"""The app of operators."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Operators and API tokens."""

    name = "coterie.accounts"

    def ready(self) -> None:
        """Connect the receivers that record sign-ins."""
        import coterie.accounts.sign_ins  # noqa: F401 - it needs the apps loaded
