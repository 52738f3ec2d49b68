"""Simulation runs in Django's admin, to look at."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.simulation_runs.models import SimulatedFleet, SimulationRun


@admin.register(SimulatedFleet)
class SimulatedFleetAdmin(ReadOnlyAdmin):
    """Simulated fleets."""

    list_display = ["id", "file", "created_at", "used_at"]


@admin.register(SimulationRun)
class SimulationRunAdmin(ReadOnlyAdmin):
    """Simulation runs."""

    list_display = ["id", "fleet", "state", "progress", "attempts", "created_at", "finished_at"]
    list_filter = ["state"]
