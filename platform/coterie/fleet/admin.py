"""The fleet's tables in Django's admin, read-only; changes go through the API, which checks them."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.fleet.models import (
    CredentialRenewal,
    Device,
    DeviceAgent,
    DeviceAuthority,
    DeviceCertificate,
    DeviceLatency,
    EnrolmentToken,
    Observation,
    OtherCredential,
    Presence,
)


@admin.register(Device)
class DeviceAdmin(ReadOnlyAdmin):
    """Devices."""

    list_display = ["name", "state", "tags", "seen_at", "held_version"]
    list_filter = ["state"]
    list_select_related = ["presence"]
    search_fields = ["name", "id"]


@admin.register(Presence)
class PresenceAdmin(ReadOnlyAdmin):
    """When devices last checked in."""

    list_display = ["device", "seen_at", "until"]


@admin.register(DeviceAgent)
class DeviceAgentAdmin(ReadOnlyAdmin):
    """The agents of enrolled devices."""

    list_display = ["device", "version", "refuses_updates"]
    list_filter = ["version", "refuses_updates"]


@admin.register(EnrolmentToken)
class EnrolmentTokenAdmin(ReadOnlyAdmin):
    """Enrolment tokens, without their secrets."""

    list_display = ["label", "uses", "uses_allowed", "created_at", "expires_at", "revoked_at"]
    search_fields = ["label"]


@admin.register(DeviceLatency)
class DeviceLatencyAdmin(ReadOnlyAdmin):
    """Latencies that devices reported."""

    list_display = ["device", "work", "form", "charging", "p50_s", "p99_s", "at"]


@admin.register(Observation)
class ObservationAdmin(ReadOnlyAdmin):
    """Changed states that devices reported."""

    list_display = ["device", "at", "blocked_by", "held_version"]


@admin.register(CredentialRenewal)
class CredentialRenewalAdmin(ReadOnlyAdmin):
    """Orders to renew credentials."""

    list_display = ["ordered_at", "tag", "leaked", "devices"]


@admin.register(DeviceCertificate)
class DeviceCertificateAdmin(ReadOnlyAdmin):
    """Certificates issued to devices for their connections."""

    list_display = ["device", "issued_at", "until", "authority"]


@admin.register(DeviceAuthority)
class DeviceAuthorityAdmin(ReadOnlyAdmin):
    """Keys that sign devices' certificates."""

    list_display = ["public_key", "made_at"]


@admin.register(OtherCredential)
class OtherCredentialAdmin(ReadOnlyAdmin):
    """Credentials that are accepted besides the devices' current ones, without their hashes."""

    list_display = ["device", "made_at", "until"]
