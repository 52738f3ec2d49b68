"""Which kinds of a plan a device lacks."""

from collections.abc import Sequence
from typing import NamedTuple

from coterie_learning.device_plan import DevicePlan
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


def lacking_kinds(plan: DevicePlan, told: KindNames) -> Sequence[NeededKind]:
    """Those of `plan` that a device lacks which has `told` its kinds; one that told none has those of agent 0.1."""
    if not told:
        return [kind for kind in needed_kinds(plan) if kind.since != FIRST_RELEASE]
    return [kind for kind in needed_kinds(plan) if kind.name not in told.get(kind.slot, ())]
