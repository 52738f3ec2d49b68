"""One device on two machines: its directory was copied, and both agents run with the one credential.

An agent has one socket at a time. So where messages come on a socket long after the device has opened a newer one, two
agents send them. A message that was sent before, and was held up by a broken connection, does not come twice: only the
second one counts.
"""

from datetime import datetime, timedelta

from django.db.models import Q

from coterie.core.events import notify_consoles
from coterie.fleet.models import Device

LATE_S = 30.0
"""For how long after a newer socket was opened a message on an older one may have been held up."""
APART_S = 5.0
"""Least time between the two messages."""
WRITTEN_EVERY = timedelta(minutes=1)
"""Least time between two writes for a device."""
VALID_FOR = timedelta(minutes=10)
"""How long a finding counts; while both agents run, each second check-in renews it."""


class SocketOverlap:
    """Finds out for one socket of a device whether another agent has opened a newer one."""

    def __init__(self) -> None:
        self._newer_s: float | None = None
        self._message_s: float | None = None

    def record_newer_socket(self, now_s: float) -> None:
        """Another socket of the device was opened."""
        if self._newer_s is None:
            self._newer_s = now_s

    def record_message(self, now_s: float) -> bool:
        """Record a message on this socket; returns whether it must be from another agent than the newer socket."""
        if self._newer_s is None or now_s - self._newer_s < LATE_S:
            return False
        if self._message_s is None:
            self._message_s = now_s
        return now_s - self._message_s >= APART_S


def note_copy(*, device_id: str, now: datetime) -> None:
    """Store that two agents run as the device now."""
    recent = Q(copied_at__gt=now - WRITTEN_EVERY, copied_at__lte=now)
    if Device.objects.filter(pk=device_id).exclude(recent).update(copied_at=now):
        notify_consoles("fleet")


def is_copied(now: datetime) -> Q:
    """The condition on devices as which two agents run."""
    return Q(state=Device.State.ENROLLED, copied_at__range=(now - VALID_FOR, now))
