"""The rounds' tables in Django's admin, read-only: only the state machine changes them."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.rounds.models import Assignment, Round, RoundEvent, Upload


@admin.register(Round)
class RoundAdmin(ReadOnlyAdmin):
    """Rounds."""

    list_display = ["federation", "number", "state", "reason_sentence", "opened_at", "finished_at"]
    list_filter = ["state", "federation"]


@admin.register(Assignment)
class AssignmentAdmin(ReadOnlyAdmin):
    """Assignments."""

    list_display = ["round", "device", "state", "stage", "reason_sentence", "changed_at"]
    list_filter = ["state"]


@admin.register(Upload)
class UploadAdmin(ReadOnlyAdmin):
    """Updates that are being uploaded."""

    list_display = ["assignment", "size_bytes", "offered_at"]


@admin.register(RoundEvent)
class RoundEventAdmin(ReadOnlyAdmin):
    """What happened in rounds."""

    list_display = ["round", "at", "kind", "device", "reason_sentence"]
