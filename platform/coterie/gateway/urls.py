"""Addresses that belong to no app."""

from django.urls import path

from coterie.gateway import pages

urlpatterns = [
    path("healthz", pages.healthz, name="healthz"),
]
