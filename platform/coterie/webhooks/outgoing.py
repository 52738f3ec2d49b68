"""Outgoing messages to other programs and people: rows that are tried until they are delivered or given up.

The first attempt is immediate, the next ones after longer and longer pauses; each receiver gets one at a time. A
message taken by a worker that died is tried again, so it may arrive twice under the same id; it is recorded once.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

from django.db import models, transaction
from django.db.models import Q, QuerySet

from coterie.core.lease import SKEW

Clock = Callable[[], datetime]

MAX_ATTEMPTS = 9
"""Over somewhat more than two hours."""
FIRST_PAUSE_S = 30.0
"""After the first failure; each pause is twice the one before."""
LONGEST_PAUSE = timedelta(seconds=FIRST_PAUSE_S * 2 ** (MAX_ATTEMPTS - 2))
LEASE = timedelta(seconds=60)
"""A worker that tries for longer has died."""
AT_ONCE = 500


class Receiver(models.Model):
    """A receiver, which gets one message at a time."""

    held_until = models.DateTimeField(null=True, blank=True, editable=False)
    """While one worker calls it, no other does; a worker that holds it for longer has died."""

    class Meta:
        abstract = True


class Outgoing(models.Model):
    """One message for one receiver."""

    class State(models.TextChoices):
        """How far it is."""

        PENDING = "pending"
        DELIVERED = "delivered"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(null=True, blank=True)
    """When it is tried next, or taken again if the worker that tries it dies; none: it has ended."""
    status = models.PositiveIntegerField(null=True, blank=True)
    """HTTP status of the latest answer; none: there was none."""
    problem = models.CharField(max_length=400, blank=True)
    """What was wrong at the latest attempt."""
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


State = Outgoing.State
O = TypeVar("O", bound=Outgoing)  # noqa: E741 - what goes out


class DeliveryOutcome(NamedTuple):
    """The result of an attempt."""

    status: int | None
    """Of the answer, if there was one."""
    problem: str
    """What was wrong; blank: it was delivered."""


@dataclass(frozen=True)
class Queue(Generic[O]):
    """All of one kind, by receiver."""

    outgoing: type[O]
    receivers: type[Receiver]
    receiver: str
    """The column of `outgoing` that names the receiver."""

    def try_next(self, *, receiver_id: int, clock: Clock, send: Callable[[O, datetime], DeliveryOutcome]) -> bool:
        """Try the message of a receiver that has been due longest; no transaction is open while `send` works.

        False: nothing is due, or another worker tries one now.
        """
        row = self._take(receiver_id, clock())
        if row is None:
            return False
        outcome = send(row, clock())
        self._settle(row, receiver_id, outcome, clock())
        return True

    def waiting(self, *, now: datetime) -> list[int]:
        """Receivers with due messages."""
        return list(self._due(now).order_by().values_list(self.receiver, flat=True).distinct())

    def delete_old(self, *, before: datetime) -> None:
        """Delete some of the messages made before then that have ended."""
        old = self._rows().filter(created_at__lt=before).exclude(state=State.PENDING)
        self._rows().filter(pk__in=list(old.values_list("pk", flat=True)[:AT_ONCE])).delete()

    def _rows(self) -> QuerySet[O]:
        return self.outgoing._default_manager.all()

    def _due(self, now: datetime) -> QuerySet[O]:
        """Due messages. A pause longer than the longest was set before the clock was set back."""
        return self._rows().filter(Q(next_at__lte=now) | Q(next_at__gt=now + LONGEST_PAUSE + SKEW), state=State.PENDING)

    @transaction.atomic
    def _take(self, receiver_id: int, now: datetime) -> O | None:
        """Lock the receiver, so that no other worker calls it, and the row."""
        receivers = self.receivers._default_manager.filter(pk=receiver_id)
        free = Q(held_until=None) | Q(held_until__lte=now) | Q(held_until__gt=now + LEASE + SKEW)
        if not receivers.filter(free).update(held_until=now + LEASE):
            return None
        due = self._due(now).filter(**{self.receiver: receiver_id})
        row = due.select_related(self.receiver).order_by("next_at", "created_at").first()
        if row is None:
            receivers.update(held_until=None)
            return None
        row.attempts += 1
        row.next_at = now + LEASE
        row.save(update_fields=["attempts", "next_at"])
        return row

    @transaction.atomic
    def _settle(self, row: O, receiver_id: int, outcome: DeliveryOutcome, now: datetime) -> None:
        """Record the result of an attempt, unless another worker has taken it, and release the receiver."""
        held = self._rows().filter(pk=row.pk, state=State.PENDING, attempts=row.attempts)
        status, problem = outcome
        if not problem:
            held.update(state=State.DELIVERED, status=status, problem="", next_at=None, ended_at=now)
        elif row.attempts >= MAX_ATTEMPTS:
            held.update(state=State.FAILED, status=status, problem=problem, next_at=None, ended_at=now)
        else:
            pause_s = FIRST_PAUSE_S * 2 ** (row.attempts - 1)
            held.update(status=status, problem=problem, next_at=now + timedelta(seconds=pause_s))
        self.receivers._default_manager.filter(pk=receiver_id, held_until=row.next_at).update(held_until=None)
