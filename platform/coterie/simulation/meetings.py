"""Meetings of virtual devices: the same code as on agents, without a network that could fail."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from coterie_learning.clipping import ClippedMeeting
from coterie_learning.codec import Codec
from coterie_learning.meetings import Meeting
from coterie_learning.random import derive_seed
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors


class Guest(NamedTuple):
    """A device at a meeting."""

    difference: Tensors
    """Difference of its parameters from the version's."""
    weight: int
    seed: int


class Met(NamedTuple):
    """The result of a meeting."""

    difference: Mapping[str, Tensors]
    """The new difference by device."""
    sent_bytes: Mapping[str, int]
    """Bytes sent by device."""
    far: Sequence[str] = ()
    """Devices with outlier models, once for each member that reports them."""


def hold_meeting(
    guests: Mapping[str, Guest], *, specs: tuple[TensorSpec, ...], codec: Codec, meeting: int, clips: bool
) -> Met:
    """Average the models of the group members present. Raises WireError ``update.*``."""
    kind = ClippedMeeting if clips else Meeting
    parts = {
        name: kind(
            own=name,
            group=tuple(guests),
            difference=guest.difference,
            specs=specs,
            weight=guest.weight,
            codec=codec,
            seed=derive_seed(guest.seed, "meeting", meeting),
        )
        for name, guest in guests.items()
    }
    sent = dict.fromkeys(parts, 0)
    for part in parts.values():
        for other in guests:
            part.mark_present(other)
        part.fix_members()
    for name, part in parts.items():
        for other in part.others:
            payload = part.share_for(other)
            sent[name] += len(payload)
            parts[other].add_share(name, part.weight, payload)
    for name, part in parts.items():
        average = part.average()
        if average is None:  # each mixes by itself
            continue
        for other in part.others:
            sent[name] += len(average)
            parts[other].add_average(name, average)
    ended = {name: part.end() for name, part in parts.items()}
    return Met(ended, sent, [far for part in parts.values() for far in part.far])
