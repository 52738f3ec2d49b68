"""The app of operators."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate

from coterie.accounts.first_project import make_first_project


class AccountsConfig(AppConfig):
    """Operators and API tokens."""

    name = "coterie.accounts"

    def ready(self) -> None:
        """Connect the receivers that record sign-ins."""
        import coterie.accounts.sign_ins  # noqa: F401 - it needs the apps loaded

        post_migrate.connect(make_first_project, sender=self)
