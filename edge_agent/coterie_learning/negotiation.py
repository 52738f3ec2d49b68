"""Which kinds of a plan a device lacks."""

from collections.abc import Sequence
from typing import NamedTuple

from coterie_learning.custom_kinds import DEVICE_SLOTS, signed_off_offers
from coterie_learning.detectors import DRIFT
from coterie_learning.device_plan import CODEC, HELP, LOCAL, PERSONAL, PRIVACY, DevicePlan
from coterie_learning.kind_names import NESTED_SLOTS, KindNames
from coterie_learning.kinds import FIRST_RELEASE, Kind


class NeededKind(NamedTuple):
    """A kind that a plan requires of devices."""

    slot: str
    name: str
    since: str
    """The first release whose agent has it."""
    distribution: str | None = None
    """The package that provides it; None: the agent itself."""


def needed_kinds(plan: DevicePlan) -> Sequence[NeededKind]:
    """The kind of each slot, followed by the kinds among its hyperparameters."""
    chosen: list[Kind] = [getattr(plan, slot) for slot in DEVICE_SLOTS]
    every = [kind for one in chosen for kind in (one, *one.nested())]
    return [_needed(kind.slot, kind.name, kind.since) for kind in every]


def kinds_lacked(reported: KindNames) -> Sequence[NeededKind]:
    """The built-in kinds that a device lacks, by the kinds it `reported`; one that reported none has those of 0.1.

    The same holds for a nested slot for which a device reported no kinds.
    """
    every = (
        _needed(registry.slot, name, kind.since)
        for registry in (LOCAL, CODEC, PRIVACY, PERSONAL, HELP, DRIFT)
        for name, kind in registry.kinds.items()
    )
    return [kind for kind in every if _is_lacked(kind, reported)]


def _needed(slot: str, name: str, since: str) -> NeededKind:
    brought = {offer.name: offer.distribution for offer in signed_off_offers(slot)}
    return NeededKind(slot, name, since, brought.get(name))


def _is_lacked(kind: NeededKind, reported: KindNames) -> bool:
    if kind.distribution is not None:
        return kind.name not in reported.get(kind.slot, ())
    if not reported or (kind.slot in NESTED_SLOTS and kind.slot not in reported):
        return kind.since != FIRST_RELEASE
    return kind.name not in reported.get(kind.slot, ())
