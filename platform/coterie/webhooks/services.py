"""Changes to webhooks, and their deliveries: each is a row, written in the transaction of what it reports."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.db import IntegrityError, transaction

from coterie.audit.recording import audited, check_permitted
from coterie.core.given import save_given
from coterie.core.separation import Separated, project_of
from coterie.webhooks.addresses import resolve
from coterie.webhooks.errors import StillPending, WebhookNameTaken
from coterie.webhooks.jobs import DELIVER
from coterie.webhooks.models import Delivery, Event, Webhook
from coterie.webhooks.signing import new_secret


class NewWebhook(NamedTuple):
    """A webhook and the secret that signs its deliveries, which is shown this once."""

    webhook: Webhook
    secret: str


def create_webhook(*, name: str, url: str, events: Sequence[Event], now: datetime) -> NewWebhook:
    """Have some events delivered to a URL. Raises WebhookNameTaken or AddressRefused."""
    check_permitted("webhooks.create_webhook")
    resolve(url, allowed_hosts=settings.WEBHOOK_HOSTS)  # no transaction waits for a name server
    return _make_webhook(name=name, url=url, events=events, now=now)


@audited("webhooks.create_webhook")
def _make_webhook(*, name: str, url: str, events: Sequence[Event], now: datetime) -> NewWebhook:
    secret = new_secret()
    try:
        with transaction.atomic():
            webhook = Webhook.objects.create(
                name=name, url=url, events=sorted(set(events)), secret=secret, created_at=now
            )
    except IntegrityError as error:
        raise WebhookNameTaken(name=name) from error
    return NewWebhook(webhook, secret)


def change_webhook(
    *, webhook: Webhook, url: str | None = None, events: Sequence[Event] | None = None, is_active: bool | None = None
) -> None:
    """Change its URL or events, or pause it. Raises AddressRefused."""
    check_permitted("webhooks.change_webhook")
    if url is not None:
        resolve(url, allowed_hosts=settings.WEBHOOK_HOSTS)
    _set_webhook(webhook=webhook, url=url, events=events, is_active=is_active)


@audited("webhooks.change_webhook", subject="webhook")
def _set_webhook(*, webhook: Webhook, url: str | None, events: Sequence[Event] | None, is_active: bool | None) -> None:
    save_given(webhook, url=url, events=None if events is None else sorted(set(events)), is_active=is_active)


@audited("webhooks.remove_webhook", subject="webhook")
def remove_webhook(*, webhook: Webhook) -> None:
    """Remove it with its log."""
    webhook.delete()


@audited("webhooks.try_webhook")
def try_webhook(*, webhook: Webhook, now: datetime) -> Delivery:
    """Deliver a test event."""
    return _enqueue(webhook, Event.TEST, {"webhook": webhook.name}, now)


@audited("webhooks.retry_delivery", subject="delivery")
def retry_delivery(*, delivery: Delivery, now: datetime) -> None:
    """Try once more what has ended. Raises StillPending."""
    ended = Delivery.objects.filter(pk=delivery.pk).exclude(state=Delivery.State.PENDING)
    if not ended.update(state=Delivery.State.PENDING, attempts=0, next_at=now, ended_at=None):
        raise StillPending(delivery=str(delivery.pk))
    delivery.refresh_from_db()
    DELIVER.send(webhook=delivery.webhook_id)


def announce(event: Event, body: Mapping[str, object], *, about: Separated, now: datetime) -> None:
    """Deliver the event to the webhooks of a row's project that subscribe to it, once the transaction commits.

    One query where none does.
    """
    for webhook in Webhook.objects.filter(is_active=True, project=project_of(about)):
        if event in webhook.events:
            _enqueue(webhook, event, body, now)


def _enqueue(webhook: Webhook, event: Event, body: Mapping[str, object], now: datetime) -> Delivery:
    delivery = Delivery(webhook=webhook, event=event, created_at=now, next_at=now)
    delivery.body = {"id": str(delivery.pk), "event": event.value, "at": now.isoformat(), **body}
    delivery.save(force_insert=True)
    DELIVER.send(webhook=webhook.pk)
    return delivery
