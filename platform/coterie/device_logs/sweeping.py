"""Ends unanswered requests, and deletes lines whose time is over; any worker may do it at any time."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from coterie.core.rows import delete_in_parts
from coterie.device_logs import reasons
from coterie.device_logs.models import DeviceLog, DeviceLogLine
from coterie.device_logs.transitions import STEPS, State
from coterie.fleet.models import Device

LINES_AT_ONCE = 5_000


def sweep(*, now: datetime) -> None:
    """Do everything that is due."""
    gone = ~Q(device__state=Device.State.ENROLLED)
    with transaction.atomic():
        STEPS.take_all(DeviceLog.objects.filter(gone), State.EXPIRED, reason=reasons.GONE, ended_at=now)
        late = DeviceLog.objects.filter(due_at__lt=now)
        STEPS.take_all(late, State.EXPIRED, reason=reasons.NO_ANSWER, ended_at=now)
    delete_in_parts(DeviceLogLine.objects.filter(log__keep_until__lt=now), at_once=LINES_AT_ONCE)
