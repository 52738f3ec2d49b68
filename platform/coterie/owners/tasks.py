"""The jobs of owners, as Celery performs them."""

from celery import shared_task
from django.utils import timezone

from coterie.owners import sweeping


@shared_task(name="coterie.owners.tasks.sweep")
def sweep() -> None:
    """Go on with devices that are to be forgotten; runs all the time."""
    sweeping.sweep(now=timezone.now())
