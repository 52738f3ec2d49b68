"""Exports as a Django app."""

from django.apps import AppConfig


class ExportsConfig(AppConfig):
    """What was exported."""

    name = "coterie.exports"

    def ready(self) -> None:
        """Find what the settings name. Raises ImproperlyConfigured, which says what is missing."""
        from coterie.exports.installed import chosen_exporters

        chosen_exporters()
