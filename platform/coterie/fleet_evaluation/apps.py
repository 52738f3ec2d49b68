"""Federated evaluation as a Django app."""

from django.apps import AppConfig


class FleetEvaluationConfig(AppConfig):
    """Evaluations of versions, and devices' parts in them."""

    name = "coterie.fleet_evaluation"
