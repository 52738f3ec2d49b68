"""Periodic tasks of the platform as a whole."""

from celery import shared_task
from django.utils import timezone

from coterie.core.pruning import prune


@shared_task(name="coterie.config.tasks.prune_history")
def prune_history() -> None:
    """Remove old history; runs periodically."""
    prune(now=timezone.now())
