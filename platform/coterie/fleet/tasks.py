"""The jobs of the fleet, as Celery performs them."""

from celery import shared_task
from django.utils import timezone

from coterie.fleet import counting, credentials, observing, presence


@shared_task(name="coterie.fleet.tasks.tidy")
def tidy() -> None:
    """Delete old observations, and hashes of credentials that have ended; runs periodically."""
    now = timezone.now()
    observing.delete_old(now=now)
    credentials.delete_former(now=now)


@shared_task(name="coterie.fleet.tasks.settle")
def settle() -> float:
    """Find the devices that are gone; runs all the time."""
    return presence.settle(now=timezone.now())


@shared_task(name="coterie.fleet.tasks.count")
def count() -> None:
    """Count the devices that are present; runs every few seconds."""
    counting.count_devices(now=timezone.now())
