"""The jobs of transfers, as Celery performs them."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from coterie.transfer import advancing, tidying


@shared_task(name="coterie.transfer.tasks.sweep")
def sweep() -> float:
    """Find the help requests that are due; runs all the time."""
    return advancing.sweep(now=timezone.now())


@shared_task(name="coterie.transfer.tasks.tidy")
def tidy() -> None:
    """Remove files and rows that are not needed; runs periodically."""
    tidying.tidy(now=timezone.now())


@shared_task(name="coterie.transfer.tasks.advance_request")
def advance_request(request: str) -> None:
    """Advance a help request as far as it goes."""
    advancing.advance_request(request_id=UUID(request), now=timezone.now())
