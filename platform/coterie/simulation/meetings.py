"""Meetings of virtual devices: the same code as on agents, with nothing between them that could fail."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from coterie_learning.clipping import ClippedMeeting
from coterie_learning.codec import Codec
from coterie_learning.meetings import Meeting
from coterie_learning.random import derive_seed
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors


class Guest(NamedTuple):
    """A device that comes to a meeting."""

    difference: Tensors
    """Of its parameters from those of the version."""
    weight: int
    seed: int


class Met(NamedTuple):
    """What a meeting came to."""

    difference: Mapping[str, Tensors]
    """By device, what it goes on with."""
    sent_bytes: Mapping[str, int]
    """By device."""
    far: Sequence[str] = ()
    """Devices whose models lay far off, once for each that says so."""


def hold_meeting(
    guests: Mapping[str, Guest], *, specs: tuple[TensorSpec, ...], codec: Codec, meeting: int, clips: bool
) -> Met:
    """Those of one group who have come mix what they have learned. Raises WireError ``update.*``."""
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
            part.greet(other)
        part.fix()
    for name, part in parts.items():
        for other in part.others:
            payload = part.share_for(other)
            sent[name] += len(payload)
            parts[other].hear(name, part.weight, payload)
    for name, part in parts.items():
        average = part.average()
        if average is None:  # each mixes by itself
            continue
        for other in part.others:
            sent[name] += len(average)
            parts[other].learn(name, average)
    ended = {name: part.end() for name, part in parts.items()}
    return Met(ended, sent, [far for part in parts.values() for far in part.far])
