"""The audit log's part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.audit.operator_api import EntryViewSet

router = SimpleRouter()
router.register("audit", EntryViewSet, basename="audit")
urlpatterns = router.urls
