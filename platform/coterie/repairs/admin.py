"""Muted faults in Django's admin, to look at."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.repairs.models import Mute


@admin.register(Mute)
class MuteAdmin(ReadOnlyAdmin):
    """Muted faults."""

    list_display = ["key", "sentence", "until", "muted_at"]
