"""Addresses that belong to no app."""

from django.urls import path

from coterie.gateway import pages

urlpatterns = [
    path("", pages.home, name="home"),
    path("fleet/now", pages.fleet_now, name="fleet-now"),
    path("healthz", pages.healthz, name="healthz"),
    path("readyz", pages.readyz, name="readyz"),
]
