"""The jobs of devices' logs, as Celery performs them."""

from celery import shared_task
from django.utils import timezone

from coterie.device_logs import sweeping


@shared_task(name="coterie.device_logs.tasks.sweep")
def sweep() -> None:
    """End unanswered requests, and delete expired lines; runs periodically."""
    sweeping.sweep(now=timezone.now())
