"""The registry's part of the REST API."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from coterie.registry.blob_api import BlobViewSet
from coterie.registry.operator_api import DatasetViewSet, PairViewSet, RecipeSchemaView, VersionViewSet

router = SimpleRouter()
router.register("pairs", PairViewSet)
router.register("versions", VersionViewSet)
router.register("datasets", DatasetViewSet)
router.register("blobs", BlobViewSet)
urlpatterns = [
    *router.urls,
    path("recipe-schema/", RecipeSchemaView.as_view(), name="recipe-schema"),
]
