"""A device's status, in one word: the same in lists, totals, filters and on the device's own page."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from django.db.models import Count, Q, QuerySet

from coterie.fleet.models import Device
from coterie.fleet.presence import is_absent


class DeviceStatus(StrEnum):
    """The first that applies, in this order."""

    REVOKED = "revoked"
    LEFT = "left"
    QUARANTINED = "quarantined"
    """Merges left out too many of its updates: no round invites it until an operator releases it."""
    NEVER_SEEN = "never_seen"
    """It has joined and not checked in."""
    ABSENT = "absent"
    PAUSED = "paused"
    """An operator has paused it."""
    PINNED = "pinned"
    """An operator has pinned it to one version, so it takes no part in rounds."""
    WAITING = "waiting"
    """It reports why it cannot train."""
    READY = "ready"


def rules(now: datetime) -> Mapping[DeviceStatus, Q]:
    """The conditions of a status, where none of the earlier ones applies."""
    return {
        DeviceStatus.REVOKED: Q(state=Device.State.REVOKED),
        DeviceStatus.LEFT: Q(state=Device.State.LEFT),
        DeviceStatus.QUARANTINED: Q(quarantine__gt=""),
        DeviceStatus.NEVER_SEEN: Q(present_until=None),
        DeviceStatus.ABSENT: is_absent(now),
        DeviceStatus.PAUSED: Q(paused_at__isnull=False),
        DeviceStatus.PINNED: Q(pinned_version__gt=""),
        DeviceStatus.WAITING: Q(blocked_by__gt=""),
        DeviceStatus.READY: Q(blocked_by=""),
    }


def with_status(devices: QuerySet[Device], status: DeviceStatus, *, now: datetime) -> QuerySet[Device]:
    """The devices that have the status."""
    if status not in (DeviceStatus.REVOKED, DeviceStatus.LEFT, DeviceStatus.QUARANTINED):
        # It follows from the rules; written as equalities, an index answers it.
        devices = devices.filter(state=Device.State.ENROLLED, quarantine="")
    for other, rule in rules(now).items():
        if other is status:
            return devices.filter(rule)
        devices = devices.exclude(rule)
    raise AssertionError(f"no rule for {status}")


def status_of(device: Device, *, now: datetime) -> DeviceStatus:
    """The status of one device; the same rules, in Python."""
    if device.state != Device.State.ENROLLED:
        return DeviceStatus(device.state)
    if device.quarantine:
        return DeviceStatus.QUARANTINED
    if device.present_until is None:
        return DeviceStatus.NEVER_SEEN
    if not device.is_present(now):
        return DeviceStatus.ABSENT
    if device.paused_at is not None:
        return DeviceStatus.PAUSED
    if device.pinned_version:
        return DeviceStatus.PINNED
    return DeviceStatus.WAITING if device.blocked_by else DeviceStatus.READY


def totals_by_status(devices: QuerySet[Device], *, now: datetime) -> Mapping[tuple[DeviceStatus, str], int]:
    """How many of `devices` have each status; those that wait are counted by the code of their first reason."""
    earlier = Q()
    counted: dict[str, Count] = {}
    for status, rule in rules(now).items():
        counted[status.value] = Count("state", filter=rule & ~earlier if earlier else rule)
        earlier |= rule
    found: Counter[tuple[DeviceStatus, str]] = Counter()
    for code, *counts in devices.order_by().values_list("blocked_by").annotate(**counted):
        for name, count in zip(counted, counts, strict=True):
            found[DeviceStatus(name), code if name == DeviceStatus.WAITING else ""] += count
    return +found
