"""The part of the REST API that rolls agents out."""

from rest_framework.routers import SimpleRouter

from coterie.agent_rollouts.operator_api import AgentRolloutViewSet

router = SimpleRouter()
router.register("agent-rollouts", AgentRolloutViewSet)
urlpatterns = router.urls
