"""The jobs of rounds, as Celery performs them."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from coterie.core.file_removal import removal
from coterie.rounds import advancing, pacing, retention, scrubbing, tidying


@shared_task(name="coterie.rounds.tasks.sweep")
def sweep() -> float:
    """Find what is due in any federation; runs all the time."""
    return advancing.sweep(now=timezone.now())


@shared_task(name="coterie.rounds.tasks.steer")
def steer() -> None:
    """Compute again when the devices of a large fleet check in; runs periodically."""
    pacing.steer_fleet(now=timezone.now())


@shared_task(name="coterie.rounds.tasks.scrub")
def scrub() -> None:
    """Verify the waiting updates that were read longest ago; runs all the time."""
    scrubbing.scrub_updates(now=timezone.now())


@shared_task(name="coterie.rounds.tasks.tidy")
def tidy() -> None:
    """Remove files that are not needed; runs periodically, but not during a backup."""
    with removal() as allowed:
        if allowed:
            tidying.tidy(now=timezone.now())
            retention.collect_blobs(now=timezone.now())


@shared_task(name="coterie.rounds.tasks.advance_federation")
def advance_federation(federation: str) -> None:
    """Perform what is due in a federation's rounds."""
    advancing.advance_federation(federation_id=UUID(federation), now=timezone.now())
