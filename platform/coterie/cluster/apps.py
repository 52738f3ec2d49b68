"""The cluster as a Django app."""

from django.apps import AppConfig


class ClusterConfig(AppConfig):
    """Hosts and gangs."""

    name = "coterie.cluster"
