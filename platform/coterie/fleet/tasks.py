"""The jobs of the fleet, as Celery performs them."""

from celery import shared_task
from django.utils import timezone

from coterie.fleet import observing


@shared_task(name="coterie.fleet.tasks.tidy")
def tidy() -> None:
    """Forget what devices told long ago; runs now and then."""
    observing.forget(now=timezone.now())
