"""By what each update of a round counts: by its samples, once, or as a merge weighs it that compares them."""

import math
import statistics
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from coterie_learning.cohort import weights
from coterie_learning.exact_sum import MOST_WEIGHT
from coterie_learning.geometry import Opens, geometry
from coterie_learning.local import DELTA
from coterie_learning.merge import Merge, Vote
from coterie_learning.update_files import UpdateFile
from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError

FAR = 2.0
"""Times the median distance from which an update that was left out is said to stand out."""


class Ballot(NamedTuple):
    """One update, as a merge that compares them saw it."""

    weight: float
    """Its share of the version, where 1 is an equal share; 0: it was left out."""
    distance: float
    """How far it lies from the others, as the kind measures it."""


class Tally(NamedTuple):
    """How the updates of a round are summed, in their order."""

    weights: Sequence[int]
    """Whole numbers, so that sums are exact; 0: it is left out."""
    divisor: int
    """What their weighted sum is divided by."""
    ballots: Sequence[Ballot] = ()
    """Of each update, where the merge compares them."""

    @property
    def share(self) -> float:
        """What of the mean by `weights` makes the version; 1 unless updates are scaled down."""
        return sum(self.weights) / self.divisor


def tally(
    merge: Merge,
    specs: Sequence[TensorSpec],
    updates: Opens,
    samples: Sequence[int],
    *,
    parts: Sequence[str] = (DELTA,),
    root: Callable[[], AbstractContextManager[UpdateFile]] | None = None,
) -> Tally:
    """Of at least one update; the same for each in whatever order they are listed. Raises what `geometry` raises.

    `root` is the platform's own update, for a merge that compares with it.
    """
    if merge.reads not in ("norms", "distances"):
        found = weights(merge.counted(samples))
        return Tally(found, sum(found))
    assert merge.compares_with_root == (root is not None), "the caller computes it exactly where it is asked for"
    compared = updates if root is None else [*updates, root]
    vote = merge.weigh(geometry(specs, compared, parts=parts, distances=merge.reads == "distances"))
    return whole(vote)


def whole(vote: Vote) -> Tally:
    """A vote in whole numbers that exact sums take: multiples of a power of two, 2^-22 of their sum or less.

    Weights that differ by less than that become one, so that how a machine rounds seldom matters, and equal ones stay
    equal: then the mean is that of weights of 1.
    """
    largest = max(math.fsum(vote.weights), vote.divisor or 0.0)
    if largest <= 0:
        return Tally([0] * len(vote.weights), 1, _ballots(vote))
    exponent = MOST_WEIGHT.bit_length() - 1 - math.frexp(largest)[1]
    found = [round(math.ldexp(weight, exponent)) for weight in vote.weights.tolist()]
    divisor = sum(found) if vote.divisor is None else max(1, round(math.ldexp(vote.divisor, exponent)))
    common = math.gcd(divisor, *found)
    return Tally([weight // common for weight in found], divisor // common, _ballots(vote))


def standing_out(ballots: Sequence[Ballot]) -> dict[int, WireError]:
    """Those of the updates left out that lie far from the others, by their index, and what is wrong with each."""
    if not ballots:
        return {}
    median = statistics.median(ballot.distance for ballot in ballots)
    return {
        place: WireError(
            "update.outvoted",
            f"it lies {ballot.distance:.3g} from the others, where the median is {median:.3g}",
        )
        for place, ballot in enumerate(ballots)
        if ballot.weight == 0 and ballot.distance > FAR * median
    }


def _ballots(vote: Vote) -> Sequence[Ballot]:
    shares = vote.weights * (len(vote.weights) / (vote.divisor or math.fsum(vote.weights) or 1.0))
    return [Ballot(*pair) for pair in zip(shares.tolist(), vote.distances.tolist(), strict=True)]
