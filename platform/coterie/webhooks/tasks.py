"""The jobs of webhooks, as Celery performs them."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from coterie.webhooks import delivering


@shared_task(name="coterie.webhooks.tasks.deliver")
def deliver(delivery: str) -> None:
    """Try a delivery."""
    delivering.deliver(delivery_id=UUID(delivery), clock=timezone.now, post=delivering.post_over_http)


@shared_task(name="coterie.webhooks.tasks.sweep")
def sweep() -> None:
    """Find what is due; runs all the time."""
    delivering.sweep(now=timezone.now())
