"""The fleet part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.fleet.operator_api import DeviceViewSet, EnrolmentTokenViewSet

router = SimpleRouter()
router.register("devices", DeviceViewSet)
router.register("enrolment-tokens", EnrolmentTokenViewSet)
urlpatterns = router.urls
