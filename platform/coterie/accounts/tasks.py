"""The jobs of accounts, as Celery performs them."""

from celery import shared_task
from django.utils import timezone

from coterie.accounts import browsers


@shared_task(name="coterie.accounts.tasks.tidy")
def tidy() -> None:
    """Forget sessions that have expired; runs periodically."""
    browsers.forget_old_sessions(now=timezone.now())
