"""The app of operators."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Operators and API tokens."""

    name = "coterie.accounts"

    def ready(self) -> None:
        """Let the schema of the REST API know of our authentication."""
        import coterie.accounts.openapi  # noqa: F401 - it needs the apps loaded
