"""The parts of the REST API that belong to no single app."""

from django.urls import path

from coterie.gateway.example_api import ExampleView
from coterie.gateway.glossary_api import GlossaryView
from coterie.gateway.overview_api import OverviewView, PlatformView

urlpatterns = [
    path("example/", ExampleView.as_view(), name="example"),
    path("glossary/", GlossaryView.as_view(), name="glossary"),
    path("overview/", OverviewView.as_view(), name="overview"),
    path("platform/", PlatformView.as_view(), name="platform"),
]
