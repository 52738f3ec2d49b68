"""The jobs of rounds, as Celery performs them."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from coterie.core.file_removal import removal
from coterie.rounds import advancing, pacing, retention, scrubbing, tidying


@shared_task(name="coterie.rounds.tasks.sweep")
def sweep() -> float:
    """Find whatever is due; runs all the time."""
    return advancing.sweep(now=timezone.now())


@shared_task(name="coterie.rounds.tasks.steer")
def steer() -> None:
    """Say anew how the devices of a large fleet come back; runs periodically."""
    pacing.steer_fleet(now=timezone.now())


@shared_task(name="coterie.rounds.tasks.scrub")
def scrub() -> None:
    """Read the updates that wait and were read longest ago; runs all the time."""
    scrubbing.scrub_updates(now=timezone.now())


@shared_task(name="coterie.rounds.tasks.tidy")
def tidy() -> None:
    """Remove what nobody needs; runs now and then, but not beside a backup."""
    with removal() as allowed:
        if allowed:
            tidying.tidy(now=timezone.now())
            retention.collect_blobs(now=timezone.now())


@shared_task(name="coterie.rounds.tasks.advance_federation")
def advance_federation(federation: str) -> None:
    """Do what a federation's rounds are due for."""
    advancing.advance_federation(federation_id=UUID(federation), now=timezone.now())
