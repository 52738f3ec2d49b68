"""The transfers' part of the REST API."""

from rest_framework.routers import SimpleRouter

from coterie.transfer.operator_api import DeviceProfileViewSet, HelpRequestViewSet, TransferViewSet

router = SimpleRouter()
router.register("help-requests", HelpRequestViewSet)
router.register("transfers", TransferViewSet)
router.register("profiles", DeviceProfileViewSet)
urlpatterns = router.urls
