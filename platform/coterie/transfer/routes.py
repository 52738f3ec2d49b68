"""How a portion travels: fetched from the helper by a direct path where both devices open one, else by the platform."""

from datetime import datetime, timedelta

from coterie.core.events import notify_consoles
from coterie.fleet.models import Device
from coterie.fleet.signalling import direct_peer_of
from coterie.transfer import reasons
from coterie.transfer.models import Transfer
from coterie_wire.conditions import Reason
from coterie_wire.helping import DIRECT_S
from coterie_wire.relaying import DirectPeer

TRIED = timedelta(seconds=DIRECT_S)


def initial_way(helper: Device, target: Device) -> dict[str, str]:
    """The fields of a new transfer that say how its portion travels."""
    for device in (helper, target):
        if direct_peer_of(device) is None:
            return _fields(Transfer.Way.PLATFORM, reasons.opens_no_paths(device.name))
    return _fields(Transfer.Way.TRYING, reasons.TRYING_DIRECTLY)


def direct_way(transfer: Transfer, to: Device, *, now: datetime) -> DirectPeer | None:
    """How the other device of `transfer` connects to `to`; None: the portion comes by the platform."""
    since = transfer.requested_at or now
    if transfer.way != Transfer.Way.TRYING or now - since > TRIED:
        return None
    return direct_peer_of(to)


def decide_way(transfer: Transfer, way: Transfer.Way, reason: Reason) -> None:
    """Decide how a portion travels that was to be fetched directly; nothing happens where it is decided already."""
    trying = Transfer.objects.filter(pk=transfer.pk, way=Transfer.Way.TRYING)
    if trying.update(**_fields(way, reason)):
        notify_consoles("transfer")


def _fields(way: Transfer.Way, reason: Reason) -> dict[str, str]:
    return {"way": way, "way_code": reason.code, "way_sentence": reason.sentence[:400]}
