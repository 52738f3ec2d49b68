"""Which kinds a device lacks."""

from collections.abc import Sequence
from typing import NamedTuple

from coterie_learning.device_plan import CODEC, HELP, LOCAL, PRIVACY, DevicePlan
from coterie_learning.kind_names import DEVICE_SLOTS, KindNames
from coterie_learning.kinds import FIRST_RELEASE, Kind


class NeededKind(NamedTuple):
    """A kind that a plan asks of devices."""

    slot: str
    name: str
    since: str
    """The first release whose agent has it."""


def needed_kinds(plan: DevicePlan) -> Sequence[NeededKind]:
    """One for each slot."""
    kinds: dict[str, Kind] = {slot: getattr(plan, slot) for slot in DEVICE_SLOTS}
    return [NeededKind(slot, kind.name, kind.since) for slot, kind in kinds.items()]


def kinds_lacked(told: KindNames) -> Sequence[NeededKind]:
    """The kinds of this source that a device lacks which reported `told`; one that reported none has those of 0.1."""
    every = (
        NeededKind(registry.slot, name, kind.since)
        for registry in (LOCAL, CODEC, PRIVACY, HELP)
        for name, kind in registry.kinds.items()
    )
    if not told:
        return [kind for kind in every if kind.since != FIRST_RELEASE]
    return [kind for kind in every if kind.name not in told.get(kind.slot, ())]
