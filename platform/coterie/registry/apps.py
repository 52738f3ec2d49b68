"""The registry as a Django app."""

from django.apps import AppConfig


class RegistryConfig(AppConfig):
    """Pairs, versions, aliases, data sets and blobs."""

    name = "coterie.registry"
