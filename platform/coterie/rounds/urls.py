"""The rounds' part of the REST API."""

from collections.abc import Mapping
from typing import Any

from django.urls import path
from rest_framework.routers import SimpleRouter
from rest_framework.viewsets import GenericViewSet

from coterie.rounds.annotation_views import AnnotationsView
from coterie.rounds.device_views import DeparturesView, DeviceActionsView, PauseView, PinView, ResumeView, WhyView
from coterie.rounds.figure_views import (
    DeviceFiguresViewSet,
    FederationFiguresViewSet,
    PairFiguresViewSet,
    VersionFiguresViewSet,
)
from coterie.rounds.operator_api import AssignmentViewSet, RoundViewSet
from coterie.rounds.participation_views import ParticipationView
from coterie.rounds.plan_views import PlanCheckView, PlanPreviewView
from coterie.rounds.route_views import RoutesView
from coterie.rounds.version_views import ComparisonView

router = SimpleRouter()
router.register("rounds", RoundViewSet)
router.register("assignments", AssignmentViewSet)
# Any: rows of whatever model a list has.
FIGURES: Mapping[str, type[GenericViewSet[Any]]] = {
    "federation-figures": FederationFiguresViewSet,
    "pair-figures": PairFiguresViewSet,
    "version-figures": VersionFiguresViewSet,
    "device-figures": DeviceFiguresViewSet,
}
urlpatterns = [
    *router.urls,
    *(path(f"{name}/", rows.as_view({"get": "list"}, basename=name), name=name) for name, rows in FIGURES.items()),
    path("plan-check/", PlanCheckView.as_view(), name="plan-check"),
    path("federations/<uuid:pk>/plan-preview/", PlanPreviewView.as_view(), name="plan-preview"),
    path("rounds/<int:pk>/routes/", RoutesView.as_view(), name="round-routes"),
    path("federations/<uuid:pk>/participation/", ParticipationView.as_view(), name="participation"),
    path("federations/<uuid:pk>/annotations/", AnnotationsView.as_view(), name="annotations"),
    path("versions/<uuid:first>/compare/<uuid:second>/", ComparisonView.as_view(), name="version-comparison"),
    path("device-actions/", DeviceActionsView.as_view(), name="device-actions"),
    path("devices/<uuid:pk>/why/", WhyView.as_view(), name="device-why"),
    path("devices/<uuid:pk>/departures/", DeparturesView.as_view(), name="device-departures"),
    path("devices/<uuid:pk>/pause/", PauseView.as_view(), name="device-pause"),
    path("devices/<uuid:pk>/resume/", ResumeView.as_view(), name="device-resume"),
    path("devices/<uuid:pk>/pin/", PinView.as_view(), name="device-pin"),
]
