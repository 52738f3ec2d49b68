"""The speeds' part of the REST API."""

from django.urls import path

from coterie.speeds.operator_api import SpeedClassesView, SpeedHistoryView

urlpatterns = [
    path("pairs/<uuid:pk>/speed-classes/", SpeedClassesView.as_view(), name="speed-classes"),
    path("pairs/<uuid:pk>/speed-history/", SpeedHistoryView.as_view(), name="speed-history"),
]
