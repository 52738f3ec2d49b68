"""Roll-outs as a Django app."""

from django.apps import AppConfig


class RolloutsConfig(AppConfig):
    """Roll-outs and the trials of their canary groups."""

    name = "coterie.rollouts"
