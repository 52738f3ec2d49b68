"""The fleet part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.fleet.operator_api import DeviceViewSet, EnrolmentTokenViewSet, RenewalViewSet

router = SimpleRouter()
router.register("devices", DeviceViewSet)
router.register("enrolment-tokens", EnrolmentTokenViewSet)
router.register("credential-renewals", RenewalViewSet)
urlpatterns = router.urls
