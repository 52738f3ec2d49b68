"""The configuration as a Django app: it brings the `up` command, and the Celery app wherever Django runs."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """Registers no tables."""

    name = "coterie.config"

    def ready(self) -> None:
        """Make our Celery app the default one before any job is sent."""
        import coterie.config.celery  # noqa: F401 - it reads settings, which are complete only now
