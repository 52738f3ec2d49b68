"""Delivers events to webhooks, signed."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial

import httpx
import msgspec
from django.db import transaction

from coterie.webhooks.errors import AddressRefused
from coterie.webhooks.jobs import DELIVER
from coterie.webhooks.models import Delivery, Webhook
from coterie.webhooks.outgoing import Clock, DeliveryOutcome, Queue
from coterie.webhooks.signing import signed_headers

Call = Callable[[str, bytes, Mapping[str, str]], int]
"""Posts a body to a URL and returns the HTTP status. Raises what `coterie.webhooks.calling.call` does."""

RETENTION = timedelta(days=30)
DELIVERIES = Queue(Delivery, Webhook, "webhook")


def deliver_next(*, webhook_id: int, clock: Clock, call: Call) -> bool:
    """Try the delivery to a webhook that has been due longest; no transaction is open while it is called.

    False: none is due, or another worker tries one now.
    """
    return DELIVERIES.try_next(receiver_id=webhook_id, clock=clock, send=partial(_send, call=call))


def sweep(*, now: datetime) -> None:
    """Enqueue what is due, whatever messages were lost, and delete what is old."""
    with transaction.atomic():
        for webhook_id in DELIVERIES.waiting(now=now):
            DELIVER.send(webhook=webhook_id)
    DELIVERIES.delete_old(before=now - RETENTION)


def post(url: str, body: bytes, headers: Mapping[str, str], *, call: Call) -> DeliveryOutcome:
    """Post JSON to a URL; failures are part of the result, and not raised."""
    try:
        status = call(url, body, {"Content-Type": "application/json", "User-Agent": "coterie", **headers})
    except TimeoutError:
        return DeliveryOutcome(None, "it took too long to answer")
    except AddressRefused as error:  # whose sentence has the URL, which may be a secret
        return DeliveryOutcome(None, f"its address is not called: {error.fields['problem']}")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return DeliveryOutcome(None, (str(error) or type(error).__name__)[:400])
    return DeliveryOutcome(status, "" if 200 <= status < 300 else f"it answered with status {status}")


def _send(delivery: Delivery, now: datetime, *, call: Call) -> DeliveryOutcome:
    webhook = delivery.webhook
    body = msgspec.json.encode(delivery.body)
    return post(webhook.url, body, signed_headers(webhook.secret, str(delivery.pk), body, now), call=call)
