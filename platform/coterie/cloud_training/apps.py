"""Cloud training as a Django app."""

from django.apps import AppConfig


class CloudTrainingConfig(AppConfig):
    """Pre-flights, bootstraps and distillations."""

    name = "coterie.cloud_training"
