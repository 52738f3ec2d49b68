"""Addresses that belong to no app."""

from django.urls import path

from coterie.gateway import pages

urlpatterns = [
    path("", pages.fleet, name="fleet"),
    path("fleet/now", pages.fleet_now, name="fleet-now"),
    path("healthz", pages.healthz, name="healthz"),
]
