"""The rounds' part of the REST API."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from coterie.rounds.device_views import DeviceActionsView, PauseView, PinView, ResumeView, WhyView
from coterie.rounds.operator_api import AssignmentViewSet, RoundViewSet

router = SimpleRouter()
router.register("rounds", RoundViewSet)
router.register("assignments", AssignmentViewSet)
urlpatterns = [
    *router.urls,
    path("device-actions/", DeviceActionsView.as_view(), name="device-actions"),
    path("devices/<uuid:pk>/why/", WhyView.as_view(), name="device-why"),
    path("devices/<uuid:pk>/pause/", PauseView.as_view(), name="device-pause"),
    path("devices/<uuid:pk>/resume/", ResumeView.as_view(), name="device-resume"),
    path("devices/<uuid:pk>/pin/", PinView.as_view(), name="device-pin"),
]
