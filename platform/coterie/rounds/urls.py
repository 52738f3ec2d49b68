"""The rounds' part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.rounds.operator_api import RoundViewSet

router = SimpleRouter()
router.register("rounds", RoundViewSet)
urlpatterns = router.urls
