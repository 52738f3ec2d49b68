"""Forgotten devices in Django's admin, to look at."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.owners.models import Forgetting


@admin.register(Forgetting)
class ForgettingAdmin(ReadOnlyAdmin):
    """Devices that were forgotten."""

    list_display = ["device", "asked_by", "state", "asked_at", "finished_at"]
