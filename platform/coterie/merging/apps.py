"""Merging as a Django app."""

from django.apps import AppConfig


class MergingConfig(AppConfig):
    """Updates and the merges they go into."""

    name = "coterie.merging"
