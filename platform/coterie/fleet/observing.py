"""A device's history: what it reported whenever something changed, for a limited time."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from coterie.core.rows import delete_in_parts, insert_all
from coterie.fleet.models import Device, Observation
from coterie_wire.messages import CheckIn

RETENTION = timedelta(days=14)
MAX_OF_A_DEVICE = 500
"""Of a device whose conditions change all the time, the latest are kept."""
TEMPERATURE_STEP_C = 5.0
"""Temperatures that round to the same step are the same: a probe's noise is no history."""
AT_ONCE = 5_000


class CheckedIn(NamedTuple):
    """A device that has taken in its own report, and how it stood before."""

    device: Device
    before: object
    """Its story."""
    stored: Mapping[str, object]
    """What its row holds, by column."""
    check_in: CheckIn


def observe(checked_in: Sequence[CheckedIn], *, now: datetime) -> bool:
    """Keep what devices have just reported; False if by `story` nothing has changed with any of them."""
    changed = [one.device for one in checked_in if story(one.device) != one.before]
    insert_all(
        [
            Observation(
                device=device,
                at=now,
                conditions=device.conditions,
                blockers=device.blockers,
                blocked_by=device.blocked_by,
                held_version=device.held_version,
            )
            for device in changed
        ]
    )
    return bool(changed)


def story(device: Device) -> object:
    """What of a check-in is worth remembering when it changes."""
    conditions = dict(device.conditions)
    temperature_c = conditions.pop("temperature_c", None)
    step = None if temperature_c is None else round(temperature_c / TEMPERATURE_STEP_C)
    codes = [blocker["code"] for blocker in device.blockers]
    return (device.last_seen_at is None, conditions, step, codes, device.held_version)


def forget(*, now: datetime) -> None:
    """Remove what is older than the retention, and what exceeds one device's share."""
    old = Observation.objects.filter(at__lt=now - RETENTION).order_by("at")
    delete_in_parts(old, at_once=AT_ONCE)
    numbered = Observation.objects.order_by().annotate(
        number=Window(RowNumber(), partition_by=[F("device_id")], order_by=F("at").desc())
    )
    too_many = numbered.filter(number__gt=MAX_OF_A_DEVICE)
    Observation.objects.filter(pk__in=list(too_many.values_list("pk", flat=True)[:AT_ONCE])).delete()
