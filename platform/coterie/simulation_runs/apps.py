"""Simulation runs as a Django app."""

from django.apps import AppConfig


class SimulationRunsConfig(AppConfig):
    """Simulated fleets and their runs."""

    name = "coterie.simulation_runs"
