"""Forgotten devices and rebuilt lineages in Django's admin, read-only."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.owners.models import Forgetting, Rebuild


@admin.register(Forgetting)
class ForgettingAdmin(ReadOnlyAdmin):
    """Devices that were forgotten."""

    list_display = ["device", "asked_by", "state", "asked_at", "finished_at"]


@admin.register(Rebuild)
class RebuildAdmin(ReadOnlyAdmin):
    """Lineages that are rebuilt without a forgotten device."""

    list_display = ["federation", "state", "base", "result_version", "asked_at", "finished_at"]
