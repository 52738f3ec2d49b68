"""The alerts' part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.alerts.operator_api import ChannelViewSet, IncidentViewSet, NoticeViewSet, RuleViewSet

router = SimpleRouter()
router.register("alert-channels", ChannelViewSet)
router.register("alert-rules", RuleViewSet)
router.register("alert-incidents", IncidentViewSet)
router.register("alert-notices", NoticeViewSet)
urlpatterns = router.urls
