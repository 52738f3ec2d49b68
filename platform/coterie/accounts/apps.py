"""The app of operators."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Operators and API tokens."""

    name = "coterie.accounts"

    def ready(self) -> None:
        """Let the schema of the REST API know of our authentication, and the audit log of sign-ins."""
        import coterie.accounts.openapi
        import coterie.accounts.sign_ins  # noqa: F401 - both need the apps loaded
