"""The alliances' part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.alliances.operator_api import AllianceViewSet

router = SimpleRouter()
router.register("alliances", AllianceViewSet)
urlpatterns = router.urls
