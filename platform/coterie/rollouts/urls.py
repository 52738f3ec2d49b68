"""The roll-outs' part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.rollouts.operator_api import RolloutViewSet

router = SimpleRouter()
router.register("rollouts", RolloutViewSet)
urlpatterns = router.urls
