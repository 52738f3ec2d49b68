"""The roll-outs' tables in Django's admin, read-only; changes go through services, which record them."""

from django.contrib import admin

from coterie.core.admin import ReadOnlyAdmin
from coterie.rollouts.models import Rollout, Trial


@admin.register(Rollout)
class RolloutAdmin(ReadOnlyAdmin):
    """Roll-outs."""

    list_display = ["version", "federation", "state", "reason_sentence", "created_at", "ended_at"]
    list_filter = ["state", "federation"]


@admin.register(Trial)
class TrialAdmin(ReadOnlyAdmin):
    """Trials."""

    list_display = ["rollout", "device", "reported_at", "samples", "champion_accuracy", "candidate_accuracy"]
