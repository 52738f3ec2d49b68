"""Questions to a fleet as a Django app."""

from django.apps import AppConfig


class AnalyticsConfig(AppConfig):
    """Questions, and devices' parts in their answers."""

    name = "coterie.analytics"
