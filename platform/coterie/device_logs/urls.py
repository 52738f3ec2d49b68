"""The part of the REST API about devices' logs."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from coterie.device_logs.operator_api import DeviceLogLineViewSet, DeviceLogViewSet, SendsLogView

router = SimpleRouter()
router.register("device-logs", DeviceLogViewSet)
urlpatterns = [
    *router.urls,
    path("device-logs/<uuid:log>/lines/", DeviceLogLineViewSet.as_view({"get": "list"})),
    path("devices/<uuid:pk>/sends-log/", SendsLogView.as_view()),
]
