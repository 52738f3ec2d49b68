"""The owners' part of the REST API."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from coterie.owners.operator_api import ExportView, ForgettingView, ForgetView, RebuildViewSet

router = SimpleRouter()
router.register("rebuilds", RebuildViewSet)

urlpatterns = [
    path("devices/<uuid:pk>/export/", ExportView.as_view(), name="device-export"),
    path("devices/<uuid:pk>/forget/", ForgetView.as_view(), name="device-forget"),
    path("devices/<uuid:pk>/forgetting/", ForgettingView.as_view(), name="device-forgetting"),
    *router.urls,
]
