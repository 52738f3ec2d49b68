"""The part of the REST API that rolls agents out."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from coterie.agent_rollouts.operator_api import AgentRolloutViewSet, DeviceUpdateViewSet
from coterie.agent_rollouts.release_api import AgentReleasesView, AgentVersionsView

router = SimpleRouter()
router.register("agent-rollouts", AgentRolloutViewSet)
router.register("agent-updates", DeviceUpdateViewSet)
urlpatterns = [
    path("agent-releases/", AgentReleasesView.as_view(), name="agent-releases"),
    path("agent-versions/", AgentVersionsView.as_view(), name="agent-versions"),
    *router.urls,
]
