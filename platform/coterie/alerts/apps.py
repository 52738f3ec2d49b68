"""Alerts as a Django app."""

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """Rules, channels and notices."""

    name = "coterie.alerts"
