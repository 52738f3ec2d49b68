"""A whole secure sum in one process: members, the platform between them, and drop-outs wherever a test wants them."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from nacl.signing import SigningKey

from coterie_learning.secure_sum import party, recovery
from coterie_learning.secure_sum.identities import EMPTY
from coterie_learning.secure_sum.masks import UInt
from coterie_learning.secure_sum.members import MemberList, member_list
from coterie_learning.secure_sum.party import PartyState
from coterie_learning.secure_sum.terms import SumTerms
from coterie_learning.secure_sum.vector import Layout, Vector, added, encode_vector, open_vector, word
from coterie_wire.secure_sum import Box, Share
from coterie_wire.tensor_files import InMemory

EASY = SumTerms(fewest=2, corrupted=0.0, dropped=0.3, adversary="curious")


class Collected(NamedTuple):
    """What the platform holds before it recovers the sum."""

    found: MemberList
    states: dict[int, PartyState]
    shared: set[int]
    survivors: list[int]
    revealed: dict[int, Sequence[Share]]
    files: dict[int, bytes]
    vectors: dict[int, Vector]
    """Without masks; the platform never has them."""


def joined(count: int, session: str = "session") -> tuple[MemberList, dict[int, PartyState]]:
    """The list of so many members, and the state of each by its place."""
    identities = [SigningKey(bytes([number % 256, number // 256, *bytes(30)])) for number in range(count)]
    parts = [party.join(session, f"device-{number}", identity) for number, identity in enumerate(identities)]
    found = member_list(session, [part.member for part in parts], EMPTY)
    return found, {found.place_of(part.state.device): part.state for part in parts}


def vector_of(place: int, layout: Layout) -> Vector:
    """Any numbers, the same for the same place."""
    drawn = np.random.default_rng(place)
    numbers: UInt = drawn.integers(0, 1 << layout.bits, layout.length).astype(word(layout.bits))
    return Vector(layout.bits, numbers, drawn.integers(0, 1 << 62, layout.tail).astype(np.uint64))


def collect(
    count: int,
    layout: Layout,
    terms: SumTerms = EASY,
    *,
    before_sharing: Collection[int] = (),
    before_vector: Collection[int] = (),
    before_revealing: Collection[int] = (),
) -> Collected:
    """A session in which the members at some places are lost before a step."""
    found, states = joined(count)
    boxes = defaultdict[int, list[Box]](list)  # by receiver: a search through all for each would take the longest
    shared = set(states) - set(before_sharing)
    for place in sorted(shared):
        states[place] = party.share(states[place], found, terms)
        recovery.check_boxes(found, place, states[place].sent, terms)
        for box in states[place].sent:
            boxes[box.to].append(box)
    files, vectors = {}, {}
    for place in sorted(shared - set(before_vector)):
        vectors[place] = vector_of(place, layout)
        masked = party.mask(states[place], recovery.boxes_for(place, boxes[place]), vectors[place], terms)
        states[place] = masked.state
        files[place] = encode_vector(masked.vector, found.digest)
    survivors = sorted(files)
    revealed: dict[int, Sequence[Share]] = {}
    for place in sorted(set(survivors) - set(before_revealing)):
        states[place], revealed[place] = party.reveal(states[place], survivors, terms)
    return Collected(found, states, shared, survivors, revealed, files, vectors)


def unmasked(found: Collected, layout: Layout, terms: SumTerms = EASY) -> Vector:
    """The sum that the platform recovers."""
    recovered = recovery.recover(
        found.found, terms, shared=found.shared, survivors=found.survivors, revealed=found.revealed
    )
    files = [open_vector(InMemory(found.files[place]), layout, found.found.digest) for place in found.survivors]
    return recovery.unmasked(files, layout, recovered.masks)


def plain_sum(found: Collected) -> Vector:
    """The sum of the survivors' vectors as they were before they were masked."""
    return added([found.vectors[place] for place in found.survivors])
