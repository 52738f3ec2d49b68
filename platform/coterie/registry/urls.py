"""The registry's part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.registry.operator_api import DatasetViewSet, PairViewSet, VersionViewSet

router = SimpleRouter()
router.register("pairs", PairViewSet)
router.register("versions", VersionViewSet)
router.register("datasets", DatasetViewSet)
urlpatterns = router.urls
