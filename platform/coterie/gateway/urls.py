"""Addresses that belong to no app."""

from django.urls import path

from coterie.gateway import pages
from coterie.gateway.asset_links import asset_links

urlpatterns = [
    path("", pages.home, name="home"),
    path("fleet/now", pages.fleet_now, name="fleet-now"),
    path("healthz", pages.healthz, name="healthz"),
    path("readyz", pages.readyz, name="readyz"),
    path(".well-known/assetlinks.json", asset_links, name="asset-links"),
]
