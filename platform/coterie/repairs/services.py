"""What operators decide about faults: not to see them for a while, or at all, or again."""

from collections.abc import Iterable
from datetime import datetime

from coterie.audit.recording import audited
from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.lease import SKEW
from coterie.repairs.faults import Repair, find_faults
from coterie.repairs.models import Mute


class UnknownRepair(CoterieError):
    """Fields: key."""

    code = "repairs.unknown"
    kind = ErrorKind.NOT_FOUND
    sentence = "There is no fault {key!r} any more."


def shown(*, now: datetime) -> list[Repair]:
    """The faults that nobody has muted."""
    return unmuted(find_faults(now=now), now=now)


def unmuted(faults: Iterable[Repair], *, now: datetime) -> list[Repair]:
    """Those of `faults` that nobody has muted."""
    muted = {mute.key for mute in Mute.objects.all() if is_muted(mute, now=now)}
    return [repair for repair in faults if repair.key not in muted]


def is_muted(mute: Mute, *, now: datetime) -> bool:
    """Whether its fault is not shown: where the clock was set back since it was snoozed, nobody knows for how long."""
    return mute.until is None or mute.muted_at - SKEW <= now < mute.until


@audited("repairs.mute_repair")
def mute_repair(*, key: str, until: datetime | None, now: datetime) -> Mute:
    """Do not show a fault until then, or at all. Raises UnknownRepair."""
    found = next((repair for repair in find_faults(now=now) if repair.key == key), None)
    if found is None:
        raise UnknownRepair(key=key)
    mute, _ = Mute.objects.update_or_create(
        key=key, defaults={"until": until, "muted_at": now, "sentence": found.sentence[:500]}
    )
    return mute


@audited("repairs.restore_repair", subject="mute")
def restore_repair(*, mute: Mute) -> None:
    """Show the fault again while it is there."""
    mute.delete()
