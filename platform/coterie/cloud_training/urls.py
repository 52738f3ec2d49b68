"""Cloud training's part of the REST API."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from coterie.cloud_training.operator_api import BootstrapView, DistillView, TrainingJobViewSet

router = SimpleRouter()
router.register("jobs", TrainingJobViewSet)
urlpatterns = [
    *router.urls,
    path("pairs/<uuid:pk>/bootstrap/", BootstrapView.as_view(), name="bootstrap"),
    path("pairs/<uuid:pk>/distill/", DistillView.as_view(), name="distill"),
]
