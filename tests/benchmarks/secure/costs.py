"""What one sum of a thousand devices and a million parameters costs a device, and what unmasking it costs the platform.

The device and its neighbours are there; of the others, only their keys are. The platform's work is counted exactly and
timed on some of the masks and vectors.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
from nacl.signing import SigningKey

from coterie_learning.privacy.secure_aggregation import SecureAggregation
from coterie_learning.secure_sum import party
from coterie_learning.secure_sum.graph import neighbours_of
from coterie_learning.secure_sum.grid import Grid
from coterie_learning.secure_sum.identities import EMPTY
from coterie_learning.secure_sum.members import MemberList, member_list
from coterie_learning.secure_sum.party import PartyState
from coterie_learning.secure_sum.recovery import Mask, boxes_for, unmasked
from coterie_learning.secure_sum.terms import SumTerms
from coterie_learning.secure_sum.vector import Layout, Vector, encode_vector, open_vector
from coterie_wire.secure_sum import Box, JoinSum, OfferMasked, RevealShares, ShareSecrets, SumNews
from coterie_wire.tensor_files import InMemory
from tests.benchmarks.report import Figure

MEMBERS, PARAMETERS, TAIL = 1_000, 1_000_000, 20
LOST = 0.1
PI_4 = 6.0
"""Times slower than an x86 core: 150 to 280 MB/s of ChaCha20 are published, of 1 to 1.5 GB/s here."""
TIMED_MASKS, TIMED_VECTORS = 60, 20
KIND = SecureAggregation(min_devices=MEMBERS // 2)
TERMS = SumTerms(KIND.min_devices, KIND.corrupted, KIND.dropped, KIND.adversary)
T = TypeVar("T")


class Timed(NamedTuple):
    """A step of the device."""

    name: str
    spent_s: float


class Steps:
    """Times what is done."""

    def __init__(self) -> None:
        self.done: list[Timed] = []

    def __call__(self, name: str, act: Callable[[], T]) -> T:
        begun = time.process_time()
        found = act()
        self.done.append(Timed(name, time.process_time() - begun))
        return found


def figures() -> Iterator[Figure]:
    graph = TERMS.graph(MEMBERS)
    case = f"a device of {MEMBERS:,}, {PARAMETERS:,} parameters, graph {graph.neighbours}/{graph.threshold}"
    steps, up, down, file, digest = _device()
    for step in steps:
        yield Figure(case, step.name, step.spent_s, "s of a core")
    total = sum(step.spent_s for step in steps)
    yield Figure(case, "in all", total, "s of a core", against="target <= 0.5 s", ratio=0.5 / total)
    pi = "target <= 3 s; an estimate"
    yield Figure(case, "in all on a Raspberry Pi 4", total * PI_4, "s", against=pi, ratio=3 / (total * PI_4))
    yield Figure(case, "sent beside the vector", up / 1e3, "KB", against="target <= 15 KB", ratio=15e3 / up)
    yield Figure(case, "received: list, boxes, survivors", down / 1e3, "KB")
    for bits in (8, 12, 16):
        size = Grid(PARAMETERS, bits, 1.0, MEMBERS, 0).length * bits / 8
        against = f"target <= 1.5 of int8, {PARAMETERS / 1e6:g} MB"
        yield Figure(case, f"vector of {bits} bits", size / 1e6, "MB", against=against, ratio=1.5 * PARAMETERS / size)
    yield from _unmasking(file, digest)


def _device() -> tuple[Sequence[Timed], int, int, bytes, bytes]:
    timed = Steps()
    identities = [SigningKey(number.to_bytes(32, "little")) for number in range(1, MEMBERS + 1)]
    own = timed("keys", lambda: party.join("session", "device-0", identities[0]))
    parts = [own, *(party.join("session", f"device-{n}", key) for n, key in enumerate(identities) if n)]
    members = [part.member for part in parts]
    found = timed("signatures of the list", lambda: member_list("session", members, EMPTY))
    place = found.place_of("device-0")
    state = timed("shares sealed", lambda: party.share(own.state, found, TERMS))
    boxes = boxes_for(place, _boxes_of_neighbours(found, {part.state.device: part.state for part in parts}, place))
    grid = Grid(PARAMETERS, KIND.bits, KIND.norm, MEMBERS, seed=1)
    update = np.random.default_rng(0).standard_normal(PARAMETERS, dtype=np.float32) / np.float32(PARAMETERS**0.5)
    numbers = timed("rotation and rounding", lambda: grid.rounded(update, weight=1.0, seed=2))
    vector = Vector(KIND.bits, numbers, np.zeros(TAIL, np.uint64))
    masked = timed("boxes opened, masks added", lambda: party.mask(state, boxes, vector, TERMS))
    file = timed("vector packed", lambda: encode_vector(masked.vector, found.digest))
    survivors = sorted({place, *list(range(MEMBERS))[: round((1 - LOST) * MEMBERS)]})
    shares = timed("shares revealed", lambda: party.reveal(masked.state, survivors, TERMS)).shares
    name = "a" * 32
    sent = (
        JoinSum(name, own.member),
        ShareSecrets(name, state.sent),
        OfferMasked(name, "0" * 64, len(file)),
        RevealShares(name, shares),
    )
    received = (
        SumNews(name, "share", members=found.members),
        SumNews(name, "mask", boxes=boxes),
        SumNews(name, "reveal", survivors=tuple(survivors)),
    )
    up, down = (sum(len(msgspec.json.encode(one)) for one in some) for some in (sent, received))
    return timed.done, up, down, file, found.digest


def _boxes_of_neighbours(found: MemberList, states: dict[str, PartyState], place: int) -> list[Box]:
    graph = TERMS.graph(MEMBERS)
    others = neighbours_of(place, MEMBERS, graph.neighbours, int.from_bytes(found.digest, "big"))
    return [
        box
        for other in others
        for box in party.share(states[found.members[other].device], found, TERMS).sent
        if box.to == place
    ]


def _unmasking(file: bytes, digest: bytes) -> Iterator[Figure]:
    lost = round(LOST * MEMBERS)
    layout = Layout(Grid(PARAMETERS, KIND.bits, KIND.norm, MEMBERS, 0).length, KIND.bits, TAIL)
    vectors = [open_vector(InMemory(file), layout, digest)] * TIMED_VECTORS
    masks = [Mask(number.to_bytes(32, "big"), is_added=True) for number in range(TIMED_MASKS)]
    timed = Steps()
    timed("sum", lambda: unmasked(vectors, layout, []))
    timed("masks", lambda: unmasked([], layout, masks))
    each_vector, each_mask = timed.done[0].spent_s / TIMED_VECTORS, timed.done[1].spent_s / TIMED_MASKS
    case = f"the platform, {MEMBERS:,} devices of which {LOST:.0%} are lost with their vectors"
    name = f"vectors added, {MEMBERS - lost} (from {TIMED_VECTORS})"
    yield Figure(case, name, each_vector * (MEMBERS - lost), "s of a core")
    for dropped in (KIND.dropped, LOST):
        counted = _masks(lost, TERMS._replace(dropped=dropped).graph(MEMBERS).neighbours)
        spent = each_mask * counted
        name = f"masks removed, {counted:,} (from {TIMED_MASKS}), in the graph that bears {dropped:.0%} lost"
        yield Figure(case, name, spent, "s of a core", against="target <= 10 s", ratio=10 / spent)


def _masks(lost: int, neighbours: int) -> int:
    """Of each survivor its own, and of each that was lost those that it shares with survivors."""
    order = [neighbours_of(one, MEMBERS, neighbours, 7) for one in range(lost)]
    return MEMBERS - lost + sum(sum(other >= lost for other in others) for others in order)
