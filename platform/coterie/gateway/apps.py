"""The app of transport."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """Registers no tables."""

    name = "coterie.gateway"
