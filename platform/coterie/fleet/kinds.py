"""Which kinds of plans devices lack: stored as words, so that a query finds the devices that have all of a plan's."""

from collections.abc import Sequence

from django.db.models import Q, QuerySet

from coterie.fleet.declining import SEPARATOR, words_of_declined
from coterie.fleet.models import Device
from coterie_learning.kinds import FIRST_RELEASE
from coterie_learning.negotiation import NeededKind, kinds_lacked, needed_kinds
from coterie_learning.plan import Plan
from coterie_wire.messages import Capabilities


def words_of(capabilities: Capabilities) -> str:
    """The kinds of this platform that a device with `capabilities` lacks, and what its owner declines."""
    words = sorted(_word(kind) for kind in kinds_lacked(capabilities.kinds))
    words += words_of_declined(capabilities.declines)
    return f"{SEPARATOR}{SEPARATOR.join(words)}{SEPARATOR}" if words else ""


def able_devices(devices: QuerySet[Device], plan: Plan) -> QuerySet[Device]:
    """The devices that have all kinds that `plan` needs of them."""
    lacking = Q()
    for kind in needed_kinds(plan.device):
        lacking |= Q(lacks__contains=_as_stored(kind))
    return devices.exclude(lacking)


def lacked_by(device: Device, plan: Plan) -> Sequence[NeededKind]:
    """The kinds that `plan` needs of devices and `device` lacks."""
    if not device.lacks:
        return ()
    return [kind for kind in needed_kinds(plan.device) if _as_stored(kind) in device.lacks]


def is_of_first_release(device: Device) -> bool:
    """Whether its agent is of release 0.1, which refuses unknown fields."""
    agent = str(device.capabilities.get("agent", ""))
    return agent == FIRST_RELEASE or agent.startswith(f"{FIRST_RELEASE}.")


def has_kind(device: Device, slot: str, name: str) -> bool:
    """Whether its agent has a kind of this platform."""
    return f"{SEPARATOR}{slot}:{name}{SEPARATOR}" not in device.lacks


def _word(kind: NeededKind) -> str:
    return f"{kind.slot}:{kind.name}"


def _as_stored(kind: NeededKind) -> str:
    return f"{SEPARATOR}{_word(kind)}{SEPARATOR}"
