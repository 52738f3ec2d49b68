"""The twin's part of the REST API."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from coterie.twin.operator_api import ForecastsView, ReplayView, TraceView
from coterie.twin.trying_views import PlanForecastsView, TriedPlanViewSet

router = SimpleRouter()
router.register("plan-forecasts", TriedPlanViewSet, basename="plan-forecasts")
urlpatterns = [
    *router.urls,
    path("federations/<uuid:pk>/twin/", TraceView.as_view(), name="twin"),
    path("federations/<uuid:pk>/twin/replay/", ReplayView.as_view(), name="twin-replay"),
    path("federations/<uuid:pk>/forecasts/", ForecastsView.as_view(), name="forecasts"),
    path("federations/<uuid:pk>/plan-forecasts/", PlanForecastsView.as_view(), name="plan-forecasts"),
]
