"""The weight of each update of a round: by samples, equal, or as computed by a merge that compares updates."""

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
"""An update that was left out is reported as an outlier beyond this many times the median distance."""


class Ballot(NamedTuple):
    """The result for one update of a merge that compares updates."""

    weight: float
    """Its weight in the version, where 1 is an equal share; 0: left out."""
    distance: float
    """Its distance from the others, as the kind measures it."""


class Tally(NamedTuple):
    """The weights of a round's updates, in their order."""

    weights: Sequence[int]
    """Integers, so that sums are exact; 0: left out."""
    divisor: int
    """Divisor of the weighted sum."""
    ballots: Sequence[Ballot] = ()
    """Results for each update, where the merge compares updates."""

    @property
    def share(self) -> float:
        """Factor of the mean by `weights` in the version; 1 unless updates are scaled down."""
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
    """The tally of at least one update, independent of their order. Raises what `geometry` raises.

    `root` is the platform's own update, for merges that compare with it.
    """
    if merge.reads not in ("norms", "distances"):
        found = weights(merge.counted(samples))
        return Tally(found, sum(found))
    assert merge.compares_with_root == (root is not None), "the caller computes it exactly where it is asked for"
    compared = updates if root is None else [*updates, root]
    vote = merge.weigh(geometry(specs, compared, parts=parts, distances=merge.reads == "distances"))
    return whole(vote)


def whole(vote: Vote) -> Tally:
    """A vote in integers for exact sums: multiples of a power of two that is at most 2^-22 of their sum.

    Weights that differ by less than that become equal, so that a machine's rounding seldom matters. If all are equal,
    they become 1.
    """
    largest = max(math.fsum(vote.weights), vote.divisor or 0.0)
    if largest <= 0:
        return Tally([0] * len(vote.weights), 1, _ballots(vote))
    exponent = MOST_WEIGHT.bit_length() - 1 - math.frexp(largest)[1]
    found = [round(math.ldexp(weight, exponent)) for weight in vote.weights.tolist()]
    divisor = sum(found) if vote.divisor is None else max(1, round(math.ldexp(vote.divisor, exponent)))
    common = math.gcd(divisor, *found)
    return Tally([weight // common for weight in found], divisor // common, _ballots(vote))


def outliers(ballots: Sequence[Ballot]) -> dict[int, WireError]:
    """The outliers among the updates left out, by index, with a description of each."""
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
