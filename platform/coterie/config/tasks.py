"""What the platform does as a whole, as Celery performs it."""

from celery import shared_task
from django.utils import timezone

from coterie.core.pruning import prune


@shared_task(name="coterie.config.tasks.prune_history")
def prune_history() -> None:
    """Remove what only tells of the past; runs now and then."""
    prune(now=timezone.now())
