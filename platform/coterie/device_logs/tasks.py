"""The jobs of devices' logs, as Celery performs them."""

from celery import shared_task
from django.utils import timezone

from coterie.device_logs import sweeping


@shared_task(name="coterie.device_logs.tasks.sweep")
def sweep() -> None:
    """End what nobody answers, and remove what is kept no longer."""
    sweeping.sweep(now=timezone.now())
