"""The webhooks' part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.webhooks.operator_api import DeliveryViewSet, WebhookViewSet

router = SimpleRouter()
router.register("webhooks", WebhookViewSet)
router.register("webhook-deliveries", DeliveryViewSet)
urlpatterns = router.urls
