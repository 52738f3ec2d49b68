"""The platform's part in a secure sum: unmasks the sum of the survivors' vectors with the shares that they reveal.

For each device either the seed of its own mask is recovered, if its vector is summed, or the key of its pairwise masks,
if it dropped out. A recovered secret is compared with what the device published, which detects wrong shares. Either the
device that revealed a wrong share or the one that dealt it is at fault, and the boxes do not show which: a device is
blamed if it is in conflict with at least as many others as the graph's threshold, and at least two, since fewer of
one's neighbours than that conspire. Where no shares of a member give what it published, that member is at fault if
enough shares were revealed that they would do so in spite of any corrupted holders.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from coterie_learning.random import permutation
from coterie_learning.secure_sum import masks
from coterie_learning.secure_sum.graph import neighbours_of
from coterie_learning.secure_sum.masks import DRAWN, UInt
from coterie_learning.secure_sum.members import MemberList
from coterie_learning.secure_sum.shamir import Polynomial
from coterie_learning.secure_sum.terms import SumTerms
from coterie_learning.secure_sum.vector import NUMBERS, TAIL, Layout, Vector, VectorFile, word
from coterie_wire.errors import WireError
from coterie_wire.secure_sum import Box, Member, SecretKind, Share

TRIED = 500
"""Most subsets of shares that are searched for one without a wrong share."""
SURE = 0.05
"""The share of correct subsets for which that many draws find one, except with a probability of 7e-12."""


class Mask(NamedTuple):
    """A mask in the sum of the survivors' vectors."""

    seed: bytes
    is_added: bool
    """Whether it was added to the sum, or subtracted from it."""


class LyingDealer(WireError):
    """No shares of a member give what it published, and the other members cannot be the cause."""

    def __init__(self, place: int, detail: str) -> None:
        super().__init__("secure_sum.wrong_share", detail)
        self.place = place
        """In the list."""


class Recovered(NamedTuple):
    """The masks in the sum, and the members that sent wrong shares, without which it was recovered."""

    masks: Sequence[Mask]
    liars: Set[int]
    """Places in the list."""


def boxes_for(place: int, boxes: Sequence[Box]) -> tuple[Box, ...]:
    """The boxes for the member at `place`."""
    return tuple(sorted((box for box in boxes if box.to == place), key=lambda box: box.sender))


def check_boxes(found: MemberList, place: int, boxes: Sequence[Box], terms: SumTerms) -> None:
    """Raises WireError ``secure_sum.wrong_box`` unless `boxes` contain one of the member's for each neighbour."""
    wanted = list(_neighbours(found, place, terms))
    if sorted(box.to for box in boxes) != wanted or any(box.sender != place for box in boxes):
        raise WireError("secure_sum.wrong_box", "there must be one box for each neighbour, from the device itself")


def recover(
    found: MemberList,
    terms: SumTerms,
    *,
    shared: Set[int],
    survivors: Sequence[int],
    revealed: Mapping[int, Sequence[Share]],
) -> Recovered:
    """The masks in the sum of the vectors of `survivors`, a subset of those that have `shared` their secrets.

    `revealed` are the shares that each member answered with; shares of devices that are not its neighbours are ignored.
    Raises WireError ``secure_sum.too_few``, ``secure_sum.too_few_shares``, ``secure_sum.wrong_share`` (as LyingDealer
    where the member at fault is known), or ``secure_sum.wrong_survivors`` where some have not shared.
    """
    alive = set(survivors)
    if not alive <= shared or len(alive) < len(survivors):
        raise WireError("secure_sum.wrong_survivors", "vectors are summed once, of those who have shared their secrets")
    if len(alive) < terms.fewest:
        detail = f"{len(alive)} vectors are in, and the plan promises that at least {terms.fewest} are summed"
        raise WireError("secure_sum.too_few", detail)
    threshold, corrupted = terms.graph(len(found.members)).threshold, max(1, terms.corrupted_of(len(found.members)))
    shares = {(place, one.owner, one.of): one.share for place, some in revealed.items() for one in some}
    disputes = Counter[int]()
    on_sum: list[Mask] = []

    def secret_of(place: int, neighbours: Sequence[int], of: SecretKind, is_right: Callable[[bytes], bool]) -> bytes:
        held = {other: shares[other, place, of] for other in neighbours if (other, place, of) in shares}
        if len(held) < threshold:
            detail = f"{len(held)} shares of device {found.members[place].device} were revealed, of {threshold} needed"
            raise WireError("secure_sum.too_few_shares", detail)
        polynomial = _polynomial(held, threshold, is_right, disputes)
        if polynomial is None:
            detail = f"the shares of device {found.members[place].device} do not give what it published"
            if _suffice(len(held), threshold, corrupted):
                raise LyingDealer(place, detail)
            raise WireError("secure_sum.wrong_share", detail)
        at_odds = [other for other, share in held.items() if not polynomial.passes(other + 1, share)]
        disputes.update(at_odds)
        disputes[place] += len(at_odds)
        return polynomial.secret()

    for place in sorted(shared):
        member, neighbours = found.members[place], _neighbours(found, place, terms)
        if place in alive:
            on_sum.append(Mask(secret_of(place, neighbours, "own_mask", _is_seed_of(member)), is_added=True))
        elif others := [other for other in neighbours if other in alive]:
            key = secret_of(place, neighbours, "pair_masks", _is_key_of(member))
            for other in others:  # the member added this mask if its place is before that of the dropped one
                seed = masks.pair_seed(key, found.members[other].mask, found.digest)
                on_sum.append(Mask(seed, is_added=other < place))
    return Recovered(on_sum, {place for place, others in disputes.items() if others >= max(2, threshold)})


def unmasked(vectors: Iterable[VectorFile], layout: Layout, lying: Sequence[Mask]) -> Vector:
    """The sum of `vectors`, of which one is open at a time, without its masks."""
    numbers: UInt = np.zeros(layout.length, word(layout.bits))
    tail = np.zeros(layout.tail, np.uint64)
    for vector in vectors:
        for start in range(0, layout.length, DRAWN):
            stop = min(start + DRAWN, layout.length)
            numbers[start:stop] += vector.numbers(start, stop)
        tail += vector.tail()
    for mask in lying:
        masks.add_mask(numbers, mask.seed, NUMBERS, subtract=mask.is_added)
        masks.add_mask(tail, mask.seed, TAIL, subtract=mask.is_added)
    return Vector(layout.bits, numbers & numbers.dtype.type((1 << layout.bits) - 1), tail)


def _polynomial(
    held: Mapping[int, bytes], threshold: int, is_right: Callable[[bytes], bool], disputes: Mapping[int, int]
) -> Polynomial | None:
    """The polynomial of a correct secret, searched from holders with the fewest disputes on; None: not found."""
    trusted = sorted(held, key=lambda place: (disputes.get(place, 0), place))
    for places in _subsets(trusted, threshold):
        polynomial = Polynomial.through({place + 1: held[place] for place in places})
        secret = _secret(polynomial)
        if secret is not None and is_right(secret):
            return polynomial
    return None


def _suffice(held: int, threshold: int, corrupted: int) -> bool:
    """Whether so many shares of an honest member give its secret even if `corrupted` of them are wrong."""
    return math.comb(max(0, held - corrupted), threshold) >= SURE * math.comb(held, threshold)


def _subsets(places: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """The first subset, then random ones, one of which soon has no wrong share."""
    yield places[:size]
    if len(places) > size:
        for draw in range(TRIED):
            yield [places[index] for index in permutation(len(places), draw, "shares").tolist()[:size]]


def _secret(polynomial: Polynomial) -> bytes | None:
    try:
        return polynomial.secret()
    except WireError:
        return None


def _is_seed_of(member: Member) -> Callable[[bytes], bool]:
    return lambda secret: masks.commitment(secret) == member.commitment


def _is_key_of(member: Member) -> Callable[[bytes], bool]:
    return lambda secret: masks.public_key(secret) == member.mask


def _neighbours(found: MemberList, place: int, terms: SumTerms) -> Sequence[int]:
    graph = terms.graph(len(found.members))
    return neighbours_of(place, len(found.members), graph.neighbours, int.from_bytes(found.digest, "big"))
