"""Simulation runs' part of the REST API."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from coterie.simulation_runs.operator_api import AskForRunsView, SimulatedFleetViewSet, SimulationRunViewSet

router = SimpleRouter()
router.register("simulated-fleets", SimulatedFleetViewSet)
router.register("simulation-runs", SimulationRunViewSet)
urlpatterns = [
    *router.urls,
    path("simulated-fleets/<uuid:pk>/runs/", AskForRunsView.as_view(), name="simulated-fleet-runs"),
]
