"""Tries deliveries: at once, then again after longer and longer pauses, until they arrive or are given up."""

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import httpx
import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import F

from coterie.webhooks.addresses import Target, resolve
from coterie.webhooks.errors import AddressRefused
from coterie.webhooks.jobs import DELIVER
from coterie.webhooks.models import Delivery
from coterie.webhooks.signing import signature

State = Delivery.State
Clock = Callable[[], datetime]
Post = Callable[[Target, bytes, dict[str, str]], int]
"""Sends a body and returns the HTTP status. Raises httpx.HTTPError."""

MAX_ATTEMPTS = 9
"""Over somewhat more than two hours."""
FIRST_PAUSE_S = 30.0
"""After the first failure; each pause is twice the one before."""
TIMEOUT_S = 10.0
LEASE = timedelta(seconds=60)
"""A worker that tries for longer has died."""
RETENTION = timedelta(days=30)
AT_ONCE = 500


def deliver(*, delivery_id: UUID, clock: Clock, post: Post) -> None:
    """Try a delivery, unless it has ended, is not due, or another worker tries it."""
    now = clock()
    due = Delivery.objects.filter(pk=delivery_id, state=State.PENDING, next_at__lte=now)
    if not due.update(next_at=now + LEASE, attempts=F("attempts") + 1):
        return
    delivery = Delivery.objects.select_related("webhook").get(pk=delivery_id)
    status, problem = _try(delivery, now, post)
    ended_at = clock()
    held = Delivery.objects.filter(pk=delivery_id, state=State.PENDING, attempts=delivery.attempts)
    if not problem:
        held.update(state=State.DELIVERED, status=status, problem="", next_at=None, ended_at=ended_at)
    elif delivery.attempts >= MAX_ATTEMPTS:
        held.update(state=State.FAILED, status=status, problem=problem, next_at=None, ended_at=ended_at)
    else:
        pause_s = FIRST_PAUSE_S * 2 ** (delivery.attempts - 1)
        held.update(status=status, problem=problem, next_at=ended_at + timedelta(seconds=pause_s))


def sweep(*, now: datetime) -> None:
    """Enqueue what is due, whatever messages were lost, and forget what is old."""
    due = Delivery.objects.filter(state=State.PENDING, next_at__lte=now).order_by("next_at")
    with transaction.atomic():
        for delivery_id in due.values_list("pk", flat=True)[:AT_ONCE]:
            DELIVER.send(delivery=str(delivery_id))
    old = Delivery.objects.filter(created_at__lt=now - RETENTION).exclude(state=State.PENDING)
    Delivery.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:AT_ONCE])).delete()


def post_over_http(target: Target, body: bytes, headers: dict[str, str]) -> int:
    """POST to exactly the address that was judged; redirects are not followed, answers not read."""
    host = f"[{target.address}]" if ":" in target.address else target.address
    name = target.host if target.port in (80, 443) else f"{target.host}:{target.port}"
    with (
        httpx.Client(timeout=TIMEOUT_S, follow_redirects=False, trust_env=False) as client,
        client.stream(
            "POST",
            f"{target.scheme}://{host}:{target.port}{target.path}",
            content=body,
            headers={**headers, "Host": name},
            extensions={"sni_hostname": target.host},
        ) as answer,
    ):
        return answer.status_code


def _try(delivery: Delivery, now: datetime, post: Post) -> tuple[int | None, str]:
    """The status, if there was an answer, and what was wrong; nothing: it arrived."""
    webhook = delivery.webhook
    body = msgspec.json.encode(delivery.body)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "coterie",
        "Coterie-Event": delivery.event,
        "Coterie-Delivery": str(delivery.pk),
        "Coterie-Signature": signature(webhook.secret, body, now),
    }
    try:
        # Looked at anew each time: what a name leads to changes.
        status = post(resolve(webhook.url, allowed_hosts=settings.WEBHOOK_HOSTS), body, headers)
    except (AddressRefused, httpx.HTTPError) as error:
        return None, (str(error) or type(error).__name__)[:400]
    return status, "" if 200 <= status < 300 else f"it answered with status {status}"
