"""When a supernode that does not check in counts as gone: after others that were asked together with it came twice.

No timeout distinguishes a device that is gone from one that a slow platform keeps waiting: a device checks in again
only when it has been answered. So what counts is the order of answers, as in Mostéfaoui, Mourgaya and Raynal 2003,
"Asynchronous implementation of failure detectors" (DSN): a missed supernode is asked to check in, together with the
devices whose updates it holds, and as long as these do not come either, the platform is slow and waits for it.
A supernode whose connection broke off is missed at once, and waited for less long.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from coterie.core.events import wake_devices
from coterie.fleet.models import Device, Presence
from coterie.fleet.presence import expire_presence
from coterie.rounds.fold_tree import Folds
from coterie.rounds.models import Assignment, Fold, Round, Route

MIN_ANSWER_TIME = timedelta(seconds=3)
"""The least time that a device has to answer, however quickly others do."""


class CheckIns(NamedTuple):
    """When a device checked in last, and the time before that."""

    last_at: datetime
    before_at: datetime | None


def is_gone(asked_at: datetime, others: Iterable[CheckIns], *, now: datetime) -> bool:
    """Whether a device that was asked at `asked_at`, and has not checked in since, counts as gone.

    It does once half of the `others` that checked in since have done so twice: their second check-in was sent after the
    question, and was not delayed by anything that could delay the answer. Others that are absent too do not count.
    """
    answered = _checked_in_since(asked_at, others)
    again = sum(one.before_at is not None and one.before_at > asked_at for one in answered)
    return now - asked_at >= MIN_ANSWER_TIME and 0 < len(answered) <= 2 * again


def is_cut_off_for_good(asked_at: datetime, others: Iterable[CheckIns], *, now: datetime) -> bool:
    """The same for a device whose connection broke off, as when its process is killed.

    A device that still runs reconnects at once, so it counts as gone as soon as the platform has heard from any other.
    """
    return now - asked_at >= MIN_ANSWER_TIME and bool(_checked_in_since(asked_at, others))


def record_lost_socket(*, device_id: str, heard_at: datetime, now: datetime) -> None:
    """Record that the socket of a supernode broke off, which last received something at `heard_at`."""
    serves = Route.objects.filter(supernode__pk=device_id, assignment__state__in=Assignment.UNENDED)
    adds = Fold.objects.filter(supernode__pk=device_id, state=Fold.State.ASKED)
    if not (serves.exists() or adds.exists()):
        return
    device = Device.objects.get(pk=device_id)
    if expire_presence(device, heard_at=heard_at, now=now):
        Device.objects.filter(pk=device.pk).update(broke_off_at=now)


def gone_supernodes(*, round_: Round, folds: Folds, now: datetime) -> frozenset[str]:
    """The supernodes that are gone, of those whose sums are outstanding; missed ones are asked to check in.

    The caller holds the round's row.
    """
    asked = [fold for fold in folds.values() if fold.state == Fold.State.ASKED]
    found = [fold for fold in asked if fold.missed_since is not None and fold.supernode.is_present(now)]
    missed = [fold for fold in asked if not fold.supernode.is_present(now)]
    for fold in found:
        _set_missed_since(fold, None)
    for fold in missed:
        if fold.missed_since is None:
            _set_missed_since(fold, now)
    if not missed:
        return frozenset()
    others = _others(round_, missed, folds)
    gone = {fold for fold in missed if _is_gone(fold, others, now)}
    awaited = {str(fold.supernode_id) for fold in missed if fold not in gone}
    if awaited:
        wake_devices({*awaited, *(str(presence.device_id) for presence in others)})
    return frozenset(str(fold.supernode_id) for fold in gone)


def _checked_in_since(asked_at: datetime, others: Iterable[CheckIns]) -> Sequence[CheckIns]:
    return [one for one in others if one.last_at > asked_at]


def _is_cut_off(device: Device) -> bool:
    """Whether it has not checked in since its connection broke off."""
    broke_off_at, seen_at = device.broke_off_at, device.last_seen_at
    return broke_off_at is not None and (seen_at is None or seen_at < broke_off_at)


def _is_gone(fold: Fold, others: Sequence[Presence], now: datetime) -> bool:
    if fold.supernode.state != Device.State.ENROLLED:
        return True
    assert fold.missed_since is not None, "it has been missed"
    check_ins = [
        CheckIns(presence.seen_at, presence.seen_before_at)
        for presence in others
        if presence.device_id != fold.supernode_id
    ]
    judge = is_cut_off_for_good if _is_cut_off(fold.supernode) else is_gone
    return judge(fold.missed_since, check_ins, now=now)


def _others(round_: Round, missed: Sequence[Fold], folds: Folds) -> Sequence[Presence]:
    """The devices whose updates the missed supernodes hold, and the other supernodes: all have reason to check in."""
    away = {fold.supernode_id for fold in missed}
    held = Route.objects.filter(
        supernode__in=away, assignment__round=round_, assignment__state__in=Assignment.UNENDED
    ).values_list("assignment__device_id", flat=True)
    return list(Presence.objects.filter(device__in={*held, *folds} - away))


def _set_missed_since(fold: Fold, since: datetime | None) -> None:
    fold.missed_since = since
    Fold.objects.filter(pk=fold.pk).update(missed_since=since)
