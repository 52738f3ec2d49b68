"""The jobs of the registry, as Celery performs them."""

import logging

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from coterie.registry import verifying
from coterie.storage.interface import store_of

logger = logging.getLogger(__name__)


@shared_task(name="coterie.registry.tasks.scrub")
def scrub() -> None:
    """Read the blobs that were read longest ago; runs all the time."""
    verifying.scrub(now=timezone.now())


@shared_task(name="coterie.registry.tasks.tidy")
def tidy() -> None:
    """Remove files that were never finished; runs all the time."""
    for alias in settings.STORES:
        if removed := store_of(alias).remove_drafts():
            logger.info("%d files that killed processes had not finished were removed from %s", removed, alias)
