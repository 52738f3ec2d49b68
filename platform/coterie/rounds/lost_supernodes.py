"""When a supernode that does not check in counts as gone: after others have come twice who were asked when it was.

No number of seconds tells a device that is gone from one that a slow platform keeps waiting: a device checks in again
only when it has been answered. So what counts is the order of answers, as in Mostéfaoui, Mourgaya and Raynal 2003,
"Asynchronous implementation of failure detectors" (DSN): a supernode that is missed is asked to check in, with the
devices whose updates it holds, and as long as these do not come either, the platform is slow, and it is waited for.
One whose connection broke off is missed at once, and not waited for as long.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from coterie.core.events import wake_devices
from coterie.fleet.models import Device, Presence
from coterie.fleet.presence import cut_presence
from coterie.rounds.fold_tree import Folds
from coterie.rounds.models import Assignment, Fold, Round, Route

ANSWER = timedelta(seconds=3)
"""What a device that is asked has at least, however quickly others answer."""


class Heard(NamedTuple):
    """When a device checked in last, and the time before that."""

    last_at: datetime
    before_at: datetime | None


def is_gone(asked_at: datetime, others: Iterable[Heard], *, now: datetime) -> bool:
    """Whether a device that was asked at `asked_at`, and has not come, counts as gone.

    It does once half of the `others` that have come since have come again: their second check-in was sent after the
    question, and has passed all that could hold the answer up. Those that are away, too, do not count.
    """
    come = _come(asked_at, others)
    again = sum(one.before_at is not None and one.before_at > asked_at for one in come)
    return now - asked_at >= ANSWER and 0 < len(come) <= 2 * again


def is_cut_off_for_good(asked_at: datetime, others: Iterable[Heard], *, now: datetime) -> bool:
    """The same of a device whose connection broke off, as those of a process do that is killed.

    One that is there connects at once, so that it is waited for no longer than for the platform to hear anybody.
    """
    return now - asked_at >= ANSWER and bool(_come(asked_at, others))


def lose_socket(*, device_id: str, heard_at: datetime, now: datetime) -> None:
    """The socket of a device broke off, on which it was heard at `heard_at` last; others may wait for it."""
    serves = Route.objects.filter(supernode__pk=device_id, assignment__state__in=Assignment.UNENDED)
    adds = Fold.objects.filter(supernode__pk=device_id, state=Fold.State.ASKED)
    if not (serves.exists() or adds.exists()):
        return
    device = Device.objects.get(pk=device_id)
    if cut_presence(device, heard_at=heard_at, now=now):
        Device.objects.filter(pk=device.pk).update(broke_off_at=now)


def gone_supernodes(*, round_: Round, folds: Folds, now: datetime) -> frozenset[str]:
    """Of those whose sums have not come, the ones that are gone; who is missed is asked to check in.

    The caller holds the round's row.
    """
    asked = [fold for fold in folds.values() if fold.state == Fold.State.ASKED]
    found = [fold for fold in asked if fold.missed_since is not None and fold.supernode.is_present(now)]
    missed = [fold for fold in asked if not fold.supernode.is_present(now)]
    for fold in found:
        _set(fold, None)
    for fold in missed:
        if fold.missed_since is None:
            _set(fold, now)
    if not missed:
        return frozenset()
    others = _others(round_, missed, folds)
    gone = {fold for fold in missed if _is_gone(fold, others, now)}
    still = {str(fold.supernode_id) for fold in missed if fold not in gone}
    if still:
        wake_devices({*still, *(str(presence.device_id) for presence in others)})
    return frozenset(str(fold.supernode_id) for fold in gone)


def _come(asked_at: datetime, others: Iterable[Heard]) -> Sequence[Heard]:
    return [one for one in others if one.last_at > asked_at]


def _is_cut_off(device: Device) -> bool:
    """Whether it has not come since its connection broke off."""
    broke_off_at, seen_at = device.broke_off_at, device.last_seen_at
    return broke_off_at is not None and (seen_at is None or seen_at < broke_off_at)


def _is_gone(fold: Fold, others: Sequence[Presence], now: datetime) -> bool:
    if fold.supernode.state != Device.State.ENROLLED:
        return True
    assert fold.missed_since is not None, "it has been missed"
    heard = [
        Heard(presence.seen_at, presence.seen_before_at)
        for presence in others
        if presence.device_id != fold.supernode_id
    ]
    judge = is_cut_off_for_good if _is_cut_off(fold.supernode) else is_gone
    return judge(fold.missed_since, heard, now=now)


def _others(round_: Round, missed: Sequence[Fold], folds: Folds) -> Sequence[Presence]:
    """The devices whose updates the missed supernodes hold, and the other supernodes: all have cause to come."""
    away = {fold.supernode_id for fold in missed}
    held = Route.objects.filter(
        supernode__in=away, assignment__round=round_, assignment__state__in=Assignment.UNENDED
    ).values_list("assignment__device_id", flat=True)
    return list(Presence.objects.filter(device__in={*held, *folds} - away))


def _set(fold: Fold, since: datetime | None) -> None:
    fold.missed_since = since
    Fold.objects.filter(pk=fold.pk).update(missed_since=since)
