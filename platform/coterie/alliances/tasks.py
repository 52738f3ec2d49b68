"""The jobs of alliances, as Celery performs them."""

from celery import shared_task
from django.utils import timezone

from coterie.alliances import advancing


@shared_task(name="coterie.alliances.tasks.sweep")
def sweep() -> float:
    """Check the alliances; runs all the time."""
    return advancing.sweep(now=timezone.now())
