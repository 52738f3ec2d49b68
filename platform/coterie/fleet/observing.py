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
"""How many observations of a device are stored: the latest, where its conditions change all the time."""
TEMPERATURE_STEP_C = 5.0
"""Temperatures that round to the same step count as unchanged: sensor noise is not recorded."""
AT_ONCE = 5_000


class CheckedIn(NamedTuple):
    """A device to which its report was applied, and its state before."""

    device: Device
    before: object
    """Its story."""
    stored: Mapping[str, object]
    """The stored values of its row, by column."""
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
    """The part of a device's state whose changes are recorded as observations."""
    conditions = dict(device.conditions)
    temperature_c = conditions.pop("temperature_c", None)
    step = None if temperature_c is None else round(temperature_c / TEMPERATURE_STEP_C)
    codes = [blocker["code"] for blocker in device.blockers]
    return (device.last_seen_at is None, conditions, step, codes, device.held_version)


def delete_old(*, now: datetime) -> None:
    """Delete observations that are older than the retention, or exceed the number for one device."""
    old = Observation.objects.filter(at__lt=now - RETENTION).order_by("at")
    delete_in_parts(old, at_once=AT_ONCE)
    numbered = Observation.objects.order_by().annotate(
        number=Window(RowNumber(), partition_by=[F("device_id")], order_by=F("at").desc())
    )
    too_many = numbered.filter(number__gt=MAX_OF_A_DEVICE)
    Observation.objects.filter(pk__in=list(too_many.values_list("pk", flat=True)[:AT_ONCE])).delete()
