"""The questions' part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.analytics.operator_api import QuestionViewSet

router = SimpleRouter()
router.register("analytics", QuestionViewSet, basename="analytics")
urlpatterns = router.urls
