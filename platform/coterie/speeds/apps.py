"""How quick devices are, as a Django app."""

from django.apps import AppConfig


class SpeedsConfig(AppConfig):
    """How long train steps and predictions take on devices, in classes and over time."""

    name = "coterie.speeds"
