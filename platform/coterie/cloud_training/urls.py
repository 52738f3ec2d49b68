"""Cloud training's part of the REST API."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from coterie.cloud_training.operator_api import (
    BootstrapView,
    DistillView,
    LaunchersView,
    QuantiseView,
    StrategySchemaView,
    TrainingJobViewSet,
)

router = SimpleRouter()
router.register("jobs", TrainingJobViewSet)
urlpatterns = [
    *router.urls,
    path("strategy-schema/", StrategySchemaView.as_view(), name="strategy-schema"),
    path("launchers/", LaunchersView.as_view(), name="launchers"),
    path("pairs/<uuid:pk>/bootstrap/", BootstrapView.as_view(), name="bootstrap"),
    path("pairs/<uuid:pk>/distill/", DistillView.as_view(), name="distill"),
    path("versions/<uuid:pk>/quantise/", QuantiseView.as_view(), name="quantise"),
]
