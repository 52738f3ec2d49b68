"""Federations in Django's admin, to look at; changes go through the API, which checks them."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.federations.models import Federation


@admin.register(Federation)
class FederationAdmin(ReadOnlyAdmin):
    """Federations."""

    list_display = ["slug", "state", "pair", "device_tag", "rounds_wanted", "created_at"]
    list_filter = ["state"]
    search_fields = ["slug", "name"]
