"""The twin's job, as Celery performs it."""

from celery import shared_task
from django.utils import timezone

from coterie.twin import services


@shared_task(name="coterie.twin.tasks.look")
def look() -> float:
    """Forecast rounds and compare forecasts; runs all the time."""
    return services.look(now=timezone.now())
