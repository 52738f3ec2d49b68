"""Which devices are present: check-ins write a narrow table, and a device's row when it comes, or is found to be gone.

A row's `present_until` is far away while `Presence` follows the device; `settle` writes there when it was heard of last
as soon as that is over (ADR 116).
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
"""A device's row says that it is present for so long; less than `LONGEST_PRESENCE`, as clocks differ."""
IDLE_S = 15.0
"""Who is asked to check in more often than that works for a round."""
AT_WORK_SEEN = timedelta(seconds=5)
"""How old a row's `last_seen_at` grows while its device works: workers of the release before give up who is silent
there, and run beside web processes of this one during an upgrade."""
AT_ONCE = 5_000
"""Devices that one call of `settle` finds gone, or follows anew."""


def is_there(now: datetime, *, of: str = "") -> Q:
    """What holds of a device that has checked in as it should, whether or not it is enrolled.

    `of` leads from the filtered rows to the device, as in ``"helper__"``.
    """
    return Q(**{f"{of}present_until__range": (now, now + LONGEST_PRESENCE)})


def is_absent(now: datetime, *, of: str = "") -> Q:
    """What holds of a device that has checked in at some time, and not as it should."""
    return Q(**{f"{of}present_until__lt": now}) | Q(**{f"{of}present_until__gt": now + LONGEST_PRESENCE})


def is_present(now: datetime) -> Q:
    """What holds of a present device."""
    return Q(state=Device.State.ENROLLED) & is_there(now)


def is_unheard(since: datetime, *, of: str = "") -> Q:
    """What holds of a device that has not checked in since then; not of one whose `Presence` was lost just now."""
    heard_here = Q(**{f"{of}tracked": True, f"{of}presence__seen_at__lt": since})
    return Q(**{f"{of}last_seen_at__lt": since}) & (Q(**{f"{of}tracked": False}) | heard_here)


def expected_until(seen_at: datetime, *, check_in_s: float) -> datetime:
    """How long a device counts as present that was then asked to check in within so many seconds."""
    return seen_at + min(timedelta(seconds=MISSED_CHECK_INS * check_in_s), LONGEST_PRESENCE)


def record_presence(devices: Sequence[Device], *, now: datetime) -> None:
    """Keep that `devices` have checked in now: `Device.check_in_s` says until when each is present."""
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
    # Who was found to be gone while this batch was answered comes back.
    lapsed = Device.objects.filter(pk__in=followed, tracked=False, state=Device.State.ENROLLED).order_by()
    lapsed.update(last_seen_at=now, present_until=now + FOLLOWED_FOR, tracked=True)
    at_work = [device.pk for device in devices if device.check_in_s < IDLE_S]
    Device.objects.filter(pk__in=at_work, last_seen_at__lt=now - AT_WORK_SEEN).order_by().update(last_seen_at=now)


def settle(*, now: datetime) -> float:
    """Write to the rows of devices that are gone when they were heard of last; follow those anew whose table was lost.

    Looks before it holds anything; what one call leaves is for the next. Seconds for which nobody can be gone.
    """
    if not PresenceKept.objects.exists():
        _follow_anew(now)
    over = Q(until__lt=now) | Q(until__gt=now + LONGEST_PRESENCE)
    keys = list(Presence.objects.filter(over).order_by().values_list("pk", flat=True)[:AT_ONCE])
    if keys:
        _end(keys, over)
        notify_consoles("fleet")
        return 0.0
    first = Presence.objects.order_by("until").values_list("until", flat=True).first()
    return LONGEST_S if first is None else (first - now).total_seconds()


def end_presence(device: Device) -> None:
    """Follow the device no longer; its row says when it was heard of last."""
    _end([device.pk], Q())


@transaction.atomic
def cut_presence(device: Device, *, heard_at: datetime, now: datetime) -> bool:
    """The device is present until now, unless it was heard of after `heard_at`; whether it is not any more."""
    is_cut = Presence.objects.filter(device=device, seen_at__lte=heard_at, until__gt=now).update(until=now) > 0
    if is_cut:
        _end([device.pk], Q())
    return is_cut


@transaction.atomic
def _end(keys: Collection[UUID], rule: Q) -> None:
    """Presence before devices, each in the order of its keys, as check-ins hold them."""
    held = Presence.objects.filter(rule, pk__in=keys).order_by("pk").select_for_update(of=("self",), no_key=True)
    over = {presence.device_id: presence for presence in held}
    devices = (
        Device.objects.filter(pk__in=over, tracked=True).order_by("pk").select_for_update(of=("self",), no_key=True)
    )
    rows = []
    for pk, last_seen_at, present_until in devices.values_list("pk", "last_seen_at", "present_until"):
        presence = over[pk]
        # A process of the former release may have heard of it since, and has written that to its row.
        heard_since = last_seen_at is not None and last_seen_at > presence.seen_at
        ends = [last_seen_at, present_until] if heard_since else [presence.seen_at, presence.until]
        rows.append(Row(pk, [*ends, False]))
    _write(rows, where={})
    Presence.objects.filter(pk__in=over).delete()


def _write(rows: Sequence[Row], *, where: dict[str, object]) -> None:
    update_each(Device, ("last_seen_at", "present_until", "tracked"), rows, where=where)


def _is_followed(device: Device, until: datetime, now: datetime) -> bool:
    """Whether the row of `device`, as it was read, says already that it is present."""
    kept = device.present_until
    return device.tracked and kept is not None and until <= kept <= now + LONGEST_PRESENCE


@transaction.atomic
def _follow_anew(now: datetime) -> None:
    """After a crash PostgreSQL has emptied the table: from now on each device has its time to check in again."""
    lost = Device.objects.filter(tracked=True, presence=None).order_by("pk").values_list("pk", "check_in_s")[:AT_ONCE]
    found = [
        Presence(device_id=pk, seen_at=now, until=expected_until(now, check_in_s=check_in_s)) for pk, check_in_s in lost
    ]
    insert_all(found, or_nothing=True)
    if len(found) < AT_ONCE:
        PresenceKept.objects.get_or_create(defaults={"since": now})
