"""One device on two machines: its directory was copied, and both agents run with the one credential.

An agent has one socket at a time. So where a device speaks on a socket for long after it has opened another, two agents
do. What was sent before, and arrives late over a line that was broken, arrives at once; so it has to speak twice.
"""

from datetime import datetime, timedelta

from django.db.models import Q

from coterie.core.events import notify_consoles
from coterie.fleet.models import Device

LATE_S = 30.0
"""How long after a newer socket was opened what comes on an older one may have been under way."""
APART_S = 5.0
TOLD_AGAIN = timedelta(minutes=1)
TOLD_FOR = timedelta(minutes=10)
"""How long it counts; it is found anew while both run, at each second check-in."""


class Line:
    """One socket of a device, as far as it tells whether another agent has opened a newer one."""

    def __init__(self) -> None:
        self._newer_s: float | None = None
        self._spoke_s: float | None = None

    def newer_opened(self, now_s: float) -> None:
        """Another socket of the device was opened."""
        if self._newer_s is None:
            self._newer_s = now_s

    def speaks(self, now_s: float) -> bool:
        """The device has spoken on this socket; whether an agent other than that of the newer socket has."""
        if self._newer_s is None or now_s - self._newer_s < LATE_S:
            return False
        if self._spoke_s is None:
            self._spoke_s = now_s
        return now_s - self._spoke_s >= APART_S


def note_copy(*, device_id: str, now: datetime) -> None:
    """Keep that two agents run as the device now."""
    told = Q(copied_at__gt=now - TOLD_AGAIN, copied_at__lte=now)
    if Device.objects.filter(pk=device_id).exclude(told).update(copied_at=now):
        notify_consoles("fleet")


def is_copied(now: datetime) -> Q:
    """What holds of a device as which two agents run."""
    return Q(state=Device.State.ENROLLED, copied_at__range=(now - TOLD_FOR, now))
