"""The jobs of webhooks: Celery only passes them to threads of each target, so that rounds do not wait for other
programs.
"""

from collections.abc import Mapping

from celery import shared_task
from django.conf import settings
from django.db import connection
from django.utils import timezone

from coterie.webhooks import delivering
from coterie.webhooks.calling import call
from coterie.webhooks.target_threads import TargetThreads

AT_ONCE = 8
"""Programs that one process calls at the same time."""


@shared_task(name="coterie.webhooks.tasks.deliver")
def deliver(webhook: int) -> None:
    """Try what is due at a webhook."""
    _lanes.wake(webhook)


@shared_task(name="coterie.webhooks.tasks.sweep")
def sweep() -> None:
    """Find what is due; runs periodically."""
    delivering.sweep(now=timezone.now())


def _deliver_next(webhook: int) -> bool:
    try:
        return delivering.deliver_next(webhook_id=webhook, clock=timezone.now, call=_call)
    finally:
        connection.close()


def _call(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    connection.close()  # a pool's connection is for threads that use it, not for those that wait for another program
    return call(url, body, headers, allowed_hosts=settings.WEBHOOK_HOSTS)


_lanes = TargetThreads(_deliver_next, at_once=AT_ONCE)
