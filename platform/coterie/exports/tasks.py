"""The exports' job, as Celery performs it."""

from celery import shared_task
from django.utils import timezone

from coterie.exports import services


@shared_task(name="coterie.exports.tasks.sweep")
def sweep() -> None:
    """Pass exporters new rounds; runs periodically."""
    services.sweep(now=timezone.now())
