"""Sends messages by their channels."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import msgspec
from django.conf import settings
from django.core.mail import EmailMessage

from coterie.alerts import wording
from coterie.alerts.models import Channel, Message, Notice
from coterie.webhooks.delivering import Call, post
from coterie.webhooks.outgoing import Clock, DeliveryOutcome, Queue
from coterie.webhooks.signing import signed_headers

Mail = Callable[[EmailMessage], str]
"""Sends a mail and returns what was wrong, as `coterie.alerts.mailing.send_mail` does."""

RETENTION = timedelta(days=90)
"""How long the log is kept."""
MESSAGES = Queue(Message, Channel, "channel")


def send_next(*, channel_id: int, clock: Clock, call: Call, mail: Mail) -> bool:
    """Try the message to a channel that has been due longest; no transaction is open meanwhile.

    False: none is due, or another worker tries one now.
    """
    return MESSAGES.try_next(receiver_id=channel_id, clock=clock, send=partial(_send, call=call, mail=mail))


def _send(message: Message, now: datetime, *, call: Call, mail: Mail) -> DeliveryOutcome:
    channel, notices = message.channel, list(message.notices.order_by("created_at", "pk"))
    if channel.kind == Channel.Kind.EMAIL:
        if not settings.EMAIL_HOST:
            return DeliveryOutcome(None, "the platform has no mail server")
        return DeliveryOutcome(None, mail(_mail_of(message, notices)))
    if channel.kind == Channel.Kind.WEBHOOK:
        body = msgspec.json.encode(wording.webhook_body(notices, str(message.pk), message.created_at))
        return post(channel.url, body, signed_headers(channel.secret, str(message.pk), body, now), call=call)
    write = wording.slack_body if channel.kind == Channel.Kind.SLACK else wording.teams_body
    body = msgspec.json.encode(write(notices, ZoneInfo(channel.time_zone), platform=settings.PUBLIC_URL))
    return post(channel.url, body, {"webhook-id": str(message.pk)}, call=call)


def _mail_of(message: Message, notices: list[Notice]) -> EmailMessage:
    """One mail to all recipients. Its Message-ID is the same when it is tried again, so mail programs show it once."""
    channel, domain = message.channel, settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip(">")
    return EmailMessage(
        subject=f"[Coterie] {wording.title_of(notices)}"[:200],
        body=wording.text_of(notices, ZoneInfo(channel.time_zone), platform=settings.PUBLIC_URL),
        to=channel.recipients,
        headers={"Message-ID": f"<{message.pk}@{domain}>", "Auto-Submitted": "auto-generated"},
    )
