"""The jobs of owners, as Celery performs them."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from coterie.owners import rebuilding, sweeping


@shared_task(name="coterie.owners.tasks.sweep")
def sweep() -> float:
    """Continue forgetting devices; runs all the time."""
    return min(sweeping.sweep(now=timezone.now()), rebuilding.queue_rebuilds(now=timezone.now()))


@shared_task(name="coterie.owners.tasks.rebuild")
def rebuild(rebuild: str) -> None:
    """Repeat merges without a forgotten device, and put the result to use."""
    rebuilding.run_rebuild(key=UUID(rebuild), clock=timezone.now)
