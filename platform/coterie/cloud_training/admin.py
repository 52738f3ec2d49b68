"""Training jobs in Django's admin, read-only; they are cancelled and retried through the API."""

from django.contrib import admin

from coterie.cloud_training.models import TrainingJob
from coterie.core.admin import ReadOnlyAdmin


@admin.register(TrainingJob)
class TrainingJobAdmin(ReadOnlyAdmin):
    """Training jobs."""

    list_display = ["kind", "pair", "state", "progress", "progress_sentence", "attempts", "created_at"]
    list_filter = ["state", "kind"]
