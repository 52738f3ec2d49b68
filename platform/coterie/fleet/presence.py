"""Which devices are present: check-ins write a narrow table; a device's row is written only when it comes or goes.

A row's `present_until` is far in the future while `Presence` tracks the device; once the device is gone, `settle`
writes the time of its last check-in there (ADR 116).
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from coterie.core.events import notify_consoles
from coterie.core.resting import LONGEST_S, unremarkable
from coterie.core.rows import Row, insert_all, update_each, upsert_all
from coterie.fleet.models import LONGEST_PRESENCE, Device, Presence, PresenceKept

MISSED_CHECK_INS = 2.5
"""A device counts as present until it has missed this many check-ins in a row."""
FOLLOWED_FOR = timedelta(hours=23)
"""How far ahead a device's row says that it is present; less than `LONGEST_PRESENCE`, as clocks differ."""
IDLE_S = 15.0
"""A device that is told to check in more often than this works for a round."""
AT_WORK_SEEN = timedelta(seconds=5)
"""How old a row's `last_seen_at` grows while its device works: workers of the previous release judge silence by it,
and run beside web processes of this one during an upgrade."""
AT_ONCE = 5_000
"""Most devices that one call of `settle` finds gone, or tracks again."""


def is_on_time(now: datetime, *, of: str = "") -> Q:
    """The filter for devices that have checked in on time, whether or not they are enrolled.

    `of` leads from the filtered rows to the device, as in ``"helper__"``.
    """
    return Q(**{f"{of}present_until__range": (now, now + LONGEST_PRESENCE)})


def is_absent(now: datetime, *, of: str = "") -> Q:
    """The filter for devices that have checked in before, and are overdue now."""
    return Q(**{f"{of}present_until__lt": now}) | Q(**{f"{of}present_until__gt": now + LONGEST_PRESENCE})


def is_present(now: datetime) -> Q:
    """The filter for present devices: enrolled, and checked in on time."""
    return Q(state=Device.State.ENROLLED) & is_on_time(now)


def is_silent_since(since: datetime, *, of: str = "") -> Q:
    """The filter for devices that have not checked in since then; excludes those whose `Presence` was lost just now."""
    heard_here = Q(**{f"{of}tracked": True, f"{of}presence__seen_at__lt": since})
    return Q(**{f"{of}last_seen_at__lt": since}) & (Q(**{f"{of}tracked": False}) | heard_here)


def expected_until(seen_at: datetime, *, check_in_s: float) -> datetime:
    """Until when a device counts as present that was told at `seen_at` to check in within `check_in_s` seconds."""
    return seen_at + min(timedelta(seconds=MISSED_CHECK_INS * check_in_s), LONGEST_PRESENCE)


def record_presence(devices: Sequence[Device], *, now: datetime) -> None:
    """Record that `devices` have checked in now; `Device.check_in_s` determines until when each is present."""
    until = {device.pk: expected_until(now, check_in_s=device.check_in_s) for device in devices}
    heard = [Presence(device=device, seen_at=now, until=until[device.pk]) for device in devices]
    with unremarkable():
        upsert_all(heard, former={"seen_before_at": "seen_at"})
    followed, others = [], []
    for device in devices:
        if _is_followed(device, until[device.pk], now):
            followed.append(device.pk)
        else:
            device.present_until, device.tracked = max(until[device.pk], now + FOLLOWED_FOR), True
            others.append(Row(device.pk, [now, device.present_until, True]))
    _write(others, where={"state": Device.State.ENROLLED})
    # A device that was found to be gone while this batch was answered is present again.
    lapsed = Device.objects.filter(pk__in=followed, tracked=False, state=Device.State.ENROLLED).order_by()
    lapsed.update(last_seen_at=now, present_until=now + FOLLOWED_FOR, tracked=True)
    at_work = [device.pk for device in devices if device.check_in_s < IDLE_S]
    Device.objects.filter(pk__in=at_work, last_seen_at__lt=now - AT_WORK_SEEN).order_by().update(last_seen_at=now)


def settle(*, now: datetime) -> float:
    """Write the last check-in to the rows of devices that are gone; track devices again whose presence was lost.

    Checks before it locks any row; the next call does what is left. Returns seconds for which no device can be gone.
    """
    if not PresenceKept.objects.exists():
        _track_again(now)
    over = Q(until__lt=now) | Q(until__gt=now + LONGEST_PRESENCE)
    keys = list(Presence.objects.filter(over).order_by().values_list("pk", flat=True)[:AT_ONCE])
    if keys:
        _end(keys, over)
        notify_consoles("fleet")
        return 0.0
    first = Presence.objects.order_by("until").values_list("until", flat=True).first()
    return LONGEST_S if first is None else (first - now).total_seconds()


def end_presence(device: Device) -> None:
    """Stop tracking the device; its row then holds its last check-in."""
    _end([device.pk], Q())


@transaction.atomic
def expire_presence(device: Device, *, heard_at: datetime, now: datetime) -> bool:
    """End the device's presence now, unless it checked in after `heard_at`; whether it was ended."""
    is_cut = Presence.objects.filter(device=device, seen_at__lte=heard_at, until__gt=now).update(until=now) > 0
    if is_cut:
        _end([device.pk], Q())
    return is_cut


@transaction.atomic
def _end(keys: Collection[UUID], rule: Q) -> None:
    """Locks presence before devices, each in the order of keys, as check-ins do."""
    held = Presence.objects.filter(rule, pk__in=keys).order_by("pk").select_for_update(of=("self",), no_key=True)
    over = {presence.device_id: presence for presence in held}
    devices = (
        Device.objects.filter(pk__in=over, tracked=True).order_by("pk").select_for_update(of=("self",), no_key=True)
    )
    rows = []
    for pk, last_seen_at, present_until in devices.values_list("pk", "last_seen_at", "present_until"):
        presence = over[pk]
        # A process of the former release may have received a check-in since, and has written it to the row.
        heard_since = last_seen_at is not None and last_seen_at > presence.seen_at
        ends = [last_seen_at, present_until] if heard_since else [presence.seen_at, presence.until]
        rows.append(Row(pk, [*ends, False]))
    _write(rows, where={})
    Presence.objects.filter(pk__in=over).delete()


def _write(rows: Sequence[Row], *, where: dict[str, object]) -> None:
    update_each(Device, ("last_seen_at", "present_until", "tracked"), rows, where=where)


def _is_followed(device: Device, until: datetime, now: datetime) -> bool:
    """Whether the row of `device`, as read, already says that it is tracked and present."""
    kept = device.present_until
    return device.tracked and kept is not None and until <= kept <= now + LONGEST_PRESENCE


@transaction.atomic
def _track_again(now: datetime) -> None:
    """After a crash, in which PostgreSQL empties the table, give each device its time to check in again."""
    lost = Device.objects.filter(tracked=True, presence=None).order_by("pk").values_list("pk", "check_in_s")[:AT_ONCE]
    found = [
        Presence(device_id=pk, seen_at=now, until=expected_until(now, check_in_s=check_in_s)) for pk, check_in_s in lost
    ]
    insert_all(found, or_nothing=True)
    if len(found) < AT_ONCE:
        PresenceKept.objects.get_or_create(defaults={"since": now})
