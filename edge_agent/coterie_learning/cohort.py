"""Which updates of a round count, and with what weight: no single device determines a version.

Both rules compare an update with the median of its cohort, so that they apply to any model and any fleet. The norm
bound is the defence of Sun et al. 2019, arXiv 1911.07963, §5, but an update that exceeds it is left out and reported
instead of being scaled down, since honest devices stay far below it. Once most devices have fitted their samples, their
updates shrink, and an honest device that has not is an outlier: a norm that was ordinary in an earlier round stays
allowed.
"""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from coterie_learning.exact_sum import GRID, MOST_WEIGHT
from coterie_learning.merge import Merge
from coterie_learning.moments import check_moments
from coterie_learning.pace import FULL_WEIGHT
from coterie_learning.update_files import UpdateFile
from coterie_wire.bundle import ModelSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors

TIMES_NORM = 10.0
"""An update's norm may be this many times the median, where that exceeds the norm that was ordinary before."""
TIMES_SCALAR = 100.0
"""A number that an update reports may be this many times the median: stragglers make few steps compared with others."""
TIMES_SAMPLES = 10
"""An update weighs at most this many times the median number of samples."""
FEWEST = 3
"""The fewest updates among which an outlier can be told from the others."""


class Admission(NamedTuple):
    """Which of a round's updates count, by their index."""

    kept: Sequence[int]
    faults: Mapping[int, WireError]
    """The problem with each update that does not count."""
    norms: Sequence[float] = ()
    """L2 norms of the updates that count, in their order."""
    all_norms: Sequence[float] = ()
    """L2 norms of all updates that could be read."""
    ordinary: float = 0.0
    """`ordinary_norm` of these norms and the previous value; where norms are held to a bound, the previous value."""


def admit(
    updates: Sequence[Callable[[], AbstractContextManager[UpdateFile]]],
    model: ModelSpec,
    base_statistics: Tensors,
    on_each: Callable[[int], None],
    *,
    known: Mapping[int, float] = {},
    bound: float | None = None,
    others: Sequence[float] = (),
    ordinary: float = 0.0,
) -> Admission:
    """Read every number of the updates, one update after the other; `on_each` is called with each place.

    `known` are the norms, by place, of updates that were read before and have the same bytes now: these are only
    opened.

    An update is at fault if it cannot be opened or read, is not finite or out of range, or if its norm or a number that
    it reports (`Local.compared`) is far above the others'. Where a privacy kind holds norms to a `bound`, norms are
    those of what was sent (`Local.scale`) and are not compared: whether an update counts must not depend on another
    device's. `others` are the norms of updates of the same cohort that were verified elsewhere; `ordinary` is the
    previous result of `ordinary_norm`.
    """
    norms: dict[int, float] = {}
    reported: dict[int, Mapping[str, float]] = {}
    faults: dict[int, WireError] = {}
    for place, update in enumerate(updates):
        on_each(place)
        try:
            with update() as file:
                check_moments(model.statistics, file.statistics, base_statistics)
                norms[place] = known[place] if place in known else file.extent().norm
                if bound is not None:
                    norms[place] *= file.scale()
                reported[place] = file.compared()
        except WireError as fault:
            faults[place] = fault
    compared = [*norms.values(), *others] if bound is None else []
    most = largest_norm(compared, ordinary)
    for place, norm in norms.items():
        if most is not None and norm > most:
            faults[place] = far_off(norm, most)
    for place, name, number, most in _too_large(reported):
        faults[place] = WireError("update.outlier", f"its {name} is {number:.3g}; its round's median allows {most:.3g}")
    kept = [place for place in norms if place not in faults]
    return Admission(
        kept, faults, [norms[place] for place in kept], list(norms.values()), ordinary_norm(compared, ordinary)
    )


def far_off(norm: float, most: float) -> WireError:
    """The problem with an update that is larger than its cohort allows."""
    return WireError(
        "update.outlier", f"its norm is {norm:.3g}; those of its round and of earlier ones allow {most:.3g}"
    )


def _too_large(reported: Mapping[int, Mapping[str, float]]) -> Iterator[tuple[int, str, float, float]]:
    """By place of an update and name, the reported numbers that are far above their median, with the allowed limit."""
    names = next(iter(reported.values()), {}) if len(reported) >= FEWEST else {}
    for name in names:
        most = TIMES_SCALAR * statistics.median(numbers[name] for numbers in reported.values())
        yield from (
            (place, name, numbers[name], most) for place, numbers in reported.items() if numbers[name] > most > 0
        )


def largest_norm(norms: Sequence[float], ordinary: float) -> float | None:
    """The largest norm that an update of this cohort may have; None if there are too few updates, or most are zero."""
    median = statistics.median(norms) if len(norms) >= FEWEST else 0.0
    return max(TIMES_NORM * median, ordinary) if median > 0 else None


def ordinary_norm(norms: Sequence[float], before: float) -> float:
    """The largest median norm of any cohort of the lineage so far: of these `norms` and the value `before`.

    An attacker with less than half of every cohort cannot raise it above what honest devices have sent.
    """
    return max(before, statistics.median(norms)) if len(norms) >= FEWEST else before


def weights(counted: Sequence[int]) -> tuple[int, ...]:
    """The weight of each update, at least 1, from how often it should be `counted`, at least once.

    No update weighs more than ten times the median, or, of three or more, more than all others together. The sum is at
    most what exact sums can hold; if need be, all weights are scaled down for that, and rounded down.
    """
    most = TIMES_SAMPLES * statistics.median_low(counted)
    capped = [min(count, most) for count in counted]
    if len(capped) >= FEWEST:
        place = max(range(len(capped)), key=capped.__getitem__)
        capped[place] = min(capped[place], sum(capped) - capped[place])
    total = sum(capped)
    if total <= MOST_WEIGHT:
        return tuple(capped)
    return tuple(max(1, count * (MOST_WEIGHT // 2) // total) for count in capped)


class UpdateFigures(NamedTuple):
    """Figures of an update that was verified elsewhere."""

    samples: int
    norm: float


def weights_of_figures(merge: Merge, cohort: Sequence[UpdateFigures], ordinary: float) -> Sequence[int]:
    """The weight of each update of a merge of sums, none of them stale; 0: it is left out, as by `admit`.

    The same weights as for updates that are read.
    """
    most = largest_norm([figures.norm for figures in cohort], ordinary)
    kept = [place for place, figures in enumerate(cohort) if most is None or figures.norm <= most]
    found = [0] * len(cohort)
    counted = weights(merge.counted([cohort[place].samples for place in kept])) if kept else ()
    for place, weight in zip(kept, counted, strict=True):
        found[place] = weight
    return found


class Weight(NamedTuple):
    """The weight of an update in its merge."""

    weight: int
    full: int
    """Its weight if it were not stale; a sum of updates is divided by the sum of these."""


def shortened(discounts: Sequence[int], norms: Sequence[float], bound: float, *, parameters: int) -> tuple[int, ...]:
    """`discounts` of updates with these `norms`, lowered so that none adds more than `bound` times `FULL_WEIGHT`.

    They are rounded down, possibly to 0. Each norm is increased by its largest possible error: it is computed to three
    digits, and the scales of 7-bit codes of `parameters` numbers are rounded to the grid of exact sums.
    """
    longest = [norm * 1.001 + math.sqrt(parameters) * 64 * GRID for norm in norms]
    return tuple(
        min(discount, math.floor(FULL_WEIGHT * bound / length))
        for discount, length in zip(discounts, longest, strict=True)
    )


def discounted(weights: Sequence[int], discounts: Sequence[int]) -> tuple[Weight, ...]:
    """`weights`, each times its discount, in units of `FULL_WEIGHT`.

    Where none is discounted, they stay as they are. At most 5,000 are given. Their sum is at most what exact sums can
    hold; if need be, all are scaled down for that, and rounded down.
    """
    unit = math.gcd(FULL_WEIGHT, *discounts)
    full = FULL_WEIGHT // unit
    most, total = MOST_WEIGHT // full, sum(weights)
    fitting = weights if total <= most else [max(1, weight * (most // 2) // total) for weight in weights]
    return tuple(
        Weight(weight * (discount // unit), weight * full) for weight, discount in zip(fitting, discounts, strict=True)
    )
