"""Which kinds a device has, found without loading them, so that an agent that does not train saves NumPy's memory."""

from collections.abc import Mapping
from functools import cache
from typing import TypeAlias

from coterie_learning.custom_kinds import DEVICE_SLOTS, built_in_kinds, signed_off_offers

KindNames: TypeAlias = Mapping[str, tuple[str, ...]]
"""Names by slot, in order; as in `coterie_wire.messages.Capabilities`."""
NESTED_SLOTS = ("drift",)
"""Packages of kinds that are hyperparameters of kinds in `DEVICE_SLOTS`."""


@cache
def own_kinds() -> KindNames:
    """The kinds that this device has, including those of other packages."""
    return {slot: _names(slot) for slot in (*DEVICE_SLOTS, *NESTED_SLOTS)}


def _names(slot: str) -> tuple[str, ...]:
    return tuple(sorted((*built_in_kinds(slot), *(offer.name for offer in signed_off_offers(slot)))))
