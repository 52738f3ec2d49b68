"""The job of the speeds, as Celery performs it."""

from celery import shared_task
from django.utils import timezone

from coterie.speeds import services


@shared_task(name="coterie.speeds.tasks.sum_up")
def sum_up() -> None:
    """Sum up what devices reported today, and complete a day that is over; runs periodically."""
    services.sum_up(now=timezone.now())
