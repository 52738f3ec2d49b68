"""Webhooks as a Django app."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Webhooks and their deliveries."""

    name = "coterie.webhooks"
