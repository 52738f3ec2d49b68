"""Hosts and gangs in Django's admin, to look at."""

from django.contrib import admin

from coterie.cluster.models import Gang, Host
from coterie.core.admin import ReadOnlyAdmin


@admin.register(Host)
class HostAdmin(ReadOnlyAdmin):
    """Hosts."""

    list_display = ["name", "rack", "places", "cores", "gpus", "seen_at"]


@admin.register(Gang)
class GangAdmin(ReadOnlyAdmin):
    """Gangs."""

    list_display = ["label", "team", "priority", "ranks", "state", "reason_sentence", "since"]
    list_filter = ["state"]
