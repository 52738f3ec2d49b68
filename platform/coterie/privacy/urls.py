"""The privacy budgets' part of the REST API."""

from django.urls import path

from coterie.privacy.operator_api import DevicePrivacyView, FederationPrivacyView

urlpatterns = [
    path("federations/<uuid:pk>/privacy/", FederationPrivacyView.as_view(), name="federation-privacy"),
    path("devices/<uuid:pk>/privacy/", DevicePrivacyView.as_view(), name="device-privacy"),
]
