"""The audit log in Django's admin."""

from django.contrib import admin

from coterie.audit.models import Entry
from coterie.core.admin import ReadOnlyAdmin


@admin.register(Entry)
class EntryAdmin(ReadOnlyAdmin):
    """Entries."""

    list_display = ["at", "actor_name", "token", "action", "subject_name"]
    list_filter = ["action", "actor_kind"]
    search_fields = ["subject_name", "actor_name"]
