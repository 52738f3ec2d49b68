"""The repairs' part of the REST API."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from coterie.repairs.operator_api import MuteViewSet, RepairsView

router = SimpleRouter()
router.register("muted-repairs", MuteViewSet, basename="muted-repairs")
urlpatterns = [path("repairs/", RepairsView.as_view(), name="repairs"), *router.urls]
