"""The evaluations' tables in Django's admin, read-only; changes go through services, which record them."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.fleet_evaluation.models import Evaluation, Part


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnlyAdmin):
    """Evaluations."""

    list_display = ["version", "federation", "state", "reason_sentence", "created_at", "ended_at"]
    list_filter = ["state", "federation"]


@admin.register(Part)
class PartAdmin(ReadOnlyAdmin):
    """Parts of devices."""

    list_display = ["evaluation", "device", "reported_at", "samples", "accuracy", "loss", "fault_code"]
