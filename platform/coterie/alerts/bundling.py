"""Puts the notices of a channel into messages: at once, or together after its quiet hours or its hourly limit.

This limits storms: a channel gets a few messages an hour, each with all notices since the one before.
"""

from datetime import datetime, timedelta
from typing import Literal

from django.db import transaction

from coterie.alerts.jobs import SEND
from coterie.alerts.models import Channel, Message, Notice
from coterie.core.lease import SKEW

MESSAGES_AN_HOUR = 12
HOUR = timedelta(hours=1)
NOTICES_A_MESSAGE = 200

Held = Literal["quiet", "full", "paused"]


def why_held(channel: Channel, *, now: datetime) -> Held | None:
    """Why a channel gets no message now: quiet hours, its hourly limit, or it is paused."""
    if not channel.is_active:
        return "paused"
    quiet = channel.quiet_hours()
    if quiet is not None and quiet.at(now):
        return "quiet"
    lately = channel.messages.filter(created_at__gt=now - HOUR, created_at__lte=now + SKEW)
    return "full" if lately.count() >= MESSAGES_AN_HOUR else None


def bundle_all(*, now: datetime) -> None:
    """Send every channel its held notices."""
    for channel_id in Notice.objects.filter(message=None).order_by().values_list("channel", flat=True).distinct():
        bundle(channel_id=channel_id, now=now)


@transaction.atomic
def bundle(*, channel_id: int, now: datetime) -> Message | None:
    """One message with the held notices of a channel; None: there are none, or they stay held."""
    channel = Channel.objects.select_for_update(no_key=True).filter(pk=channel_id).first()
    if channel is None or why_held(channel, now=now) is not None:
        return None
    waiting = channel.notices.filter(message=None).order_by("created_at", "pk")
    chosen = list(waiting.values_list("pk", flat=True)[:NOTICES_A_MESSAGE])
    if not chosen:
        return None
    message = Message.objects.create(channel=channel, created_at=now, next_at=now)
    Notice.objects.filter(pk__in=chosen).update(message=message)
    SEND.send(channel=channel.pk)
    return message
