"""The evaluations' part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.fleet_evaluation.operator_api import EvaluationViewSet

router = SimpleRouter()
router.register("evaluations", EvaluationViewSet)
urlpatterns = router.urls
