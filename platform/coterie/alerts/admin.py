"""Alerts in Django's admin, to look at, without the channels' secrets."""

from django.contrib import admin

from coterie.alerts.models import Channel, Incident, Message, Notice, Rule
from coterie.core.admin import ReadOnlyAdmin


@admin.register(Channel)
class ChannelAdmin(ReadOnlyAdmin):
    """Channels."""

    list_display = ["name", "kind", "place", "recipients", "is_active"]


@admin.register(Rule)
class RuleAdmin(ReadOnlyAdmin):
    """Rules."""

    list_display = ["name", "kind", "code", "threshold", "federation", "is_active"]


@admin.register(Incident)
class IncidentAdmin(ReadOnlyAdmin):
    """Incidents."""

    list_display = ["rule", "key", "severity", "sentence", "began_at", "resolved_at"]


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    """Messages."""

    list_display = ["channel", "state", "attempts", "status", "problem", "created_at"]
    list_filter = ["state"]


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin):
    """Notices."""

    list_display = ["channel", "change", "severity", "sentence", "created_at"]
    list_filter = ["change"]
