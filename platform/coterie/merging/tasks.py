"""The jobs of merging, as Celery performs them."""

from celery import shared_task
from django.utils import timezone

from coterie.merging import running, sweeping


@shared_task(name="coterie.merging.tasks.sweep")
def sweep() -> float:
    """Find merges on which no worker works; runs all the time."""
    return sweeping.sweep(now=timezone.now())


@shared_task(name="coterie.merging.tasks.tidy")
def tidy() -> None:
    """Remove checkpoints that are not needed; runs periodically."""
    sweeping.tidy()


@shared_task(name="coterie.merging.tasks.run_merge")
def run_merge(merge: int) -> None:
    """Merge updates and publish the result."""
    running.run_merge(merge_id=merge, clock=timezone.now)
