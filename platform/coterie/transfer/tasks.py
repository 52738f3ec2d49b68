"""The jobs of transfers, as Celery performs them."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from coterie.transfer import advancing, tidying


@shared_task(name="coterie.transfer.tasks.sweep")
def sweep() -> float:
    """Find whatever is due; runs all the time."""
    return advancing.sweep(now=timezone.now())


@shared_task(name="coterie.transfer.tasks.tidy")
def tidy() -> None:
    """Remove what nobody needs; runs now and then."""
    tidying.tidy(now=timezone.now())


@shared_task(name="coterie.transfer.tasks.advance_request")
def advance_request(request: str) -> None:
    """Take a help request as far as it goes."""
    advancing.advance_request(request_id=UUID(request), now=timezone.now())
