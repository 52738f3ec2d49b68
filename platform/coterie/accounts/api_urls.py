"""The accounts part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.accounts.operator_api import ApiTokenViewSet

router = SimpleRouter()
router.register("tokens", ApiTokenViewSet)
urlpatterns = router.urls
