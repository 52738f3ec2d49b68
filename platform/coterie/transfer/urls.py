"""The transfers' part of the REST API."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from coterie.transfer.matrix_views import HelpingMatrixView
from coterie.transfer.neighbour_views import NeighboursView
from coterie.transfer.operator_api import DeviceProfileViewSet, HelpRequestViewSet, TransferViewSet
from coterie.transfer.personal_views import PersonalModelsView

router = SimpleRouter()
router.register("help-requests", HelpRequestViewSet)
router.register("transfers", TransferViewSet)
router.register("profiles", DeviceProfileViewSet)
urlpatterns = [
    *router.urls,
    path("helping-matrix/", HelpingMatrixView.as_view(), name="helping-matrix"),
    path("devices/<uuid:pk>/neighbours/", NeighboursView.as_view(), name="device-neighbours"),
    path("federations/<uuid:pk>/personal-models/", PersonalModelsView.as_view(), name="federation-personal-models"),
]
