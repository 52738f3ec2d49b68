"""The federations' part of the REST API."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from coterie.federations.group_views import GroupViewSet, MembershipViewSet, SplitViewSet
from coterie.federations.operator_api import FederationViewSet, PlanSchemaView, PresetNotesView, PresetsView

router = SimpleRouter()
router.register("federations", FederationViewSet)
router.register("groups", GroupViewSet)
router.register("memberships", MembershipViewSet)
router.register("splits", SplitViewSet)
urlpatterns = [
    *router.urls,
    path("plan-schema/", PlanSchemaView.as_view(), name="plan-schema"),
    path("presets/", PresetsView.as_view(), name="presets"),
    path("preset-notes/", PresetNotesView.as_view(), name="preset-notes"),
]
