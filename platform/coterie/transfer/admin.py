"""The transfers' tables in Django's admin, to look at: the state machine alone changes them."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.transfer.models import DeviceProfile, HelpRequest, PersonalFigures, Transfer


@admin.register(DeviceProfile)
class DeviceProfileAdmin(ReadOnlyAdmin):
    """What devices tell of their data."""

    list_display = ["federation", "device", "batch", "reports", "size_bytes", "updated_at"]
    list_filter = ["federation"]


@admin.register(PersonalFigures)
class PersonalFiguresAdmin(ReadOnlyAdmin):
    """How devices' personal models do."""

    list_display = ["federation", "device", "answers", "own_accuracy", "version_accuracy", "samples", "updated_at"]
    list_filter = ["federation", "answers"]


@admin.register(HelpRequest)
class HelpRequestAdmin(ReadOnlyAdmin):
    """Who asked for help."""

    list_display = ["federation", "device", "state", "classes", "reason_sentence", "asked_at", "finished_at"]
    list_filter = ["state", "federation"]


@admin.register(Transfer)
class TransferAdmin(ReadOnlyAdmin):
    """Who helped whom."""

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
