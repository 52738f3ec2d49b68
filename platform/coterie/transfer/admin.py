"""The transfers' tables in Django's admin, read-only: only the state machine changes them."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.transfer.models import DeviceProfile, HelpRequest, PersonalFigures, Transfer


@admin.register(DeviceProfile)
class DeviceProfileAdmin(ReadOnlyAdmin):
    """Profiles that devices report of their data."""

    list_display = ["federation", "device", "batch", "reports", "size_bytes", "updated_at"]
    list_filter = ["federation"]


@admin.register(PersonalFigures)
class PersonalFiguresAdmin(ReadOnlyAdmin):
    """Reported figures of devices' personal models."""

    list_display = ["federation", "device", "answers", "own_accuracy", "version_accuracy", "samples", "updated_at"]
    list_filter = ["federation", "answers"]


@admin.register(HelpRequest)
class HelpRequestAdmin(ReadOnlyAdmin):
    """Help requests."""

    list_display = ["federation", "device", "state", "classes", "reason_sentence", "asked_at", "finished_at"]
    list_filter = ["state", "federation"]


@admin.register(Transfer)
class TransferAdmin(ReadOnlyAdmin):
    """Transfers."""

    list_display = [
        "request",
        "helper",
        "state",
        "way",
        "divergence",
        "size_bytes",
        "accuracy_before",
        "accuracy_after",
    ]
    list_filter = ["state"]
