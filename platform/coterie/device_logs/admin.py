"""Requests for logs in Django's admin, read-only; changes go through services, which record them."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.device_logs.models import DeviceLog


@admin.register(DeviceLog)
class DeviceLogAdmin(ReadOnlyAdmin):
    """Requests for logs."""

    list_display = ["device", "hours", "state", "reason_sentence", "created_at", "ended_at"]
    list_filter = ["state"]
