"""The jobs of alerts: Celery only passes them to threads of each target, so that rounds do not wait for a mail
server.
"""

from collections.abc import Mapping

from celery import shared_task
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import connection
from django.utils import timezone

from coterie.alerts import services
from coterie.alerts.mailing import send_mail
from coterie.alerts.sending import send_next
from coterie.webhooks.calling import call
from coterie.webhooks.target_threads import TargetThreads

AT_ONCE = 4
"""Channels to which one process sends at the same time."""


@shared_task(name="coterie.alerts.tasks.sweep")
def sweep() -> None:
    """Evaluate all rules, and send what is due; runs periodically."""
    services.sweep(now=timezone.now())


@shared_task(name="coterie.alerts.tasks.send")
def send(channel: int) -> None:
    """Send what is due to a channel."""
    _lanes.wake(channel)


def _send_next(channel: int) -> bool:
    try:
        return send_next(channel_id=channel, clock=timezone.now, call=_call, mail=_mail)
    finally:
        connection.close()


def _call(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    connection.close()  # a pool's connection is for threads that use it, not for those that wait for another program
    return call(url, body, headers, allowed_hosts=settings.WEBHOOK_HOSTS)


def _mail(mail: EmailMessage) -> str:
    connection.close()
    return send_mail(mail)


_lanes = TargetThreads(_send_next, at_once=AT_ONCE)
