"""The twin's Celery task."""

from celery import shared_task
from django.utils import timezone

from coterie.twin import services


@shared_task(name="coterie.twin.tasks.look")
def look() -> float:
    """Forecast rounds and compare forecasts; runs periodically."""
    return services.look(now=timezone.now())
