"""The fleet's tables in Django's admin, to look at; changes go through the API, which checks them."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.fleet.models import Device, DeviceLatency, EnrolmentToken, Observation


@admin.register(Device)
class DeviceAdmin(ReadOnlyAdmin):
    """Devices."""

    list_display = ["name", "state", "tags", "last_seen_at", "held_version"]
    list_filter = ["state"]
    search_fields = ["name", "id"]


@admin.register(EnrolmentToken)
class EnrolmentTokenAdmin(ReadOnlyAdmin):
    """Enrolment tokens, without their secrets."""

    list_display = ["label", "uses", "uses_allowed", "created_at", "expires_at", "revoked_at"]
    search_fields = ["label"]


@admin.register(DeviceLatency)
class DeviceLatencyAdmin(ReadOnlyAdmin):
    """How quick devices are."""

    list_display = ["device", "work", "form", "charging", "p50_s", "p99_s", "at"]


@admin.register(Observation)
class ObservationAdmin(ReadOnlyAdmin):
    """What devices reported when something had changed."""

    list_display = ["device", "at", "blocked_by", "held_version"]
