"""The secure sums' part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.secure_sums.operator_api import IdentityViewSet

router = SimpleRouter()
router.register("identities", IdentityViewSet, basename="identity")
urlpatterns = router.urls
