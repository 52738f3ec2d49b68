"""The tables of merging in Django's admin, read-only: only workers change them."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.merging.models import Merge, Update


@admin.register(Merge)
class MergeAdmin(ReadOnlyAdmin):
    """Merges."""

    list_display = ["federation", "number", "state", "reason_sentence", "attempts", "asked_at", "finished_at"]
    list_filter = ["state", "federation"]


@admin.register(Update)
class UpdateAdmin(ReadOnlyAdmin):
    """Updates that count."""

    list_display = ["device", "merge", "samples", "size_bytes", "loss_before", "loss_after", "received_at"]
