"""The alliances' tables in Django's admin, read-only; changes go through services, which record them."""

from django.contrib import admin

from coterie.alliances.models import Alliance, Party
from coterie.core.admin import ReadOnlyAdmin


@admin.register(Alliance)
class AllianceAdmin(ReadOnlyAdmin):
    """Alliances."""

    list_display = ["name", "state", "reason_sentence", "common", "epoch", "accuracy", "created_at", "ended_at"]
    list_filter = ["state"]


@admin.register(Party)
class PartyAdmin(ReadOnlyAdmin):
    """Parties."""

    list_display = ["alliance", "role", "device", "people", "columns", "joined_at", "seen_at", "finished_at"]
