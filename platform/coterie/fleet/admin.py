"""The fleet's tables in Django's admin."""

from django.contrib import admin

from coterie.fleet.models import Device, EnrolmentToken


@admin.register(Device)
class DeviceAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
    """Devices; they come to be by enrolment alone."""

    list_display = ["name", "state", "tags", "last_seen_at", "held_version"]
    list_filter = ["state"]
    search_fields = ["name", "id"]
    readonly_fields = [
        "id",
        "state",
        "enrolled_with",
        "enrolled_at",
        "ended_at",
        "last_seen_at",
        "present_until",
        "held_version",
    ]

    def has_add_permission(self, _request: object) -> bool:
        """A device without a credential of its own could never check in."""
        return False


@admin.register(EnrolmentToken)
class EnrolmentTokenAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
    """Enrolment tokens; they are made through the API, which shows the secret once."""

    list_display = ["label", "uses", "uses_allowed", "created_at", "expires_at", "revoked_at"]
    search_fields = ["label"]
    readonly_fields = ["uses", "created_at"]

    def has_add_permission(self, _request: object) -> bool:
        """A token made here would have no secret."""
        return False
