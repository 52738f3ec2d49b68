"""Tries deliveries: at once, then again after longer and longer pauses, until they arrive or are given up."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import httpx
import msgspec
from django.db import transaction
from django.db.models import Q, QuerySet

from coterie.core.lease import SKEW
from coterie.webhooks.errors import AddressRefused
from coterie.webhooks.jobs import DELIVER
from coterie.webhooks.models import Delivery, Webhook
from coterie.webhooks.signing import signed_headers

State = Delivery.State
Clock = Callable[[], datetime]
Call = Callable[[str, bytes, Mapping[str, str]], int]
"""Posts a body to a URL and gives the HTTP status. Raises what `coterie.webhooks.calling.call` does."""

MAX_ATTEMPTS = 9
"""Over somewhat more than two hours."""
FIRST_PAUSE_S = 30.0
"""After the first failure; each pause is twice the one before."""
LONGEST_PAUSE = timedelta(seconds=FIRST_PAUSE_S * 2 ** (MAX_ATTEMPTS - 2))
LEASE = timedelta(seconds=60)
"""A worker that tries for longer has died."""
RETENTION = timedelta(days=30)
AT_ONCE = 500


def deliver_next(*, webhook_id: int, clock: Clock, call: Call) -> bool:
    """Try the delivery to a webhook that has been due longest; no transaction is open while it is called.

    False: none is due, or somebody else tries one now.
    """
    delivery = _take(webhook_id, clock())
    if delivery is None:
        return False
    status, problem = _try(delivery, clock(), call)
    _settle(delivery, status, problem, clock())
    return True


def sweep(*, now: datetime) -> None:
    """Enqueue what is due, whatever messages were lost, and forget what is old."""
    with transaction.atomic():
        for webhook_id in _due(now).order_by().values_list("webhook", flat=True).distinct():
            DELIVER.send(webhook=webhook_id)
    old = Delivery.objects.filter(created_at__lt=now - RETENTION).exclude(state=State.PENDING)
    Delivery.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:AT_ONCE])).delete()


def _due(now: datetime) -> QuerySet[Delivery]:
    """What is to be tried. A pause longer than any that is given was given before the clock was set back."""
    return Delivery.objects.filter(Q(next_at__lte=now) | Q(next_at__gt=now + LONGEST_PAUSE + SKEW), state=State.PENDING)


@transaction.atomic
def _take(webhook_id: int, now: datetime) -> Delivery | None:
    """Hold the webhook, so that nobody else calls it, and the delivery."""
    free = Q(held_until=None) | Q(held_until__lte=now) | Q(held_until__gt=now + LEASE + SKEW)
    if not Webhook.objects.filter(free, pk=webhook_id).update(held_until=now + LEASE):
        return None
    delivery = _due(now).filter(webhook=webhook_id).select_related("webhook").order_by("next_at", "created_at").first()
    if delivery is None:
        Webhook.objects.filter(pk=webhook_id).update(held_until=None)
        return None
    delivery.attempts += 1
    delivery.next_at = now + LEASE
    delivery.save(update_fields=["attempts", "next_at"])
    return delivery


def _try(delivery: Delivery, now: datetime, call: Call) -> tuple[int | None, str]:
    """The status, if there was an answer, and what was wrong; nothing: it arrived."""
    webhook = delivery.webhook
    body = msgspec.json.encode(delivery.body)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "coterie",
        **signed_headers(webhook.secret, str(delivery.pk), body, now),
    }
    try:
        status = call(webhook.url, body, headers)
    except TimeoutError:
        return None, "it took too long to answer"
    except (AddressRefused, httpx.HTTPError, httpx.InvalidURL) as error:
        return None, (str(error) or type(error).__name__)[:400]
    return status, "" if 200 <= status < 300 else f"it answered with status {status}"


@transaction.atomic
def _settle(delivery: Delivery, status: int | None, problem: str, now: datetime) -> None:
    """Record the outcome of an attempt, unless another worker has taken it up, and let the webhook go."""
    held = Delivery.objects.filter(pk=delivery.pk, state=State.PENDING, attempts=delivery.attempts)
    if not problem:
        held.update(state=State.DELIVERED, status=status, problem="", next_at=None, ended_at=now)
    elif delivery.attempts >= MAX_ATTEMPTS:
        held.update(state=State.FAILED, status=status, problem=problem, next_at=None, ended_at=now)
    else:
        pause_s = FIRST_PAUSE_S * 2 ** (delivery.attempts - 1)
        held.update(status=status, problem=problem, next_at=now + timedelta(seconds=pause_s))
    Webhook.objects.filter(pk=delivery.webhook_id, held_until=delivery.next_at).update(held_until=None)
