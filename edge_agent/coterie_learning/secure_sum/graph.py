"""The neighbourhood graph of masks: a ring of devices in random order, each joined to its nearest on either side.

Bell et al. 2020 (SecAgg+), doi 10.1145/3372297.3417885, §3: with k neighbours each and a threshold of t shares, where k
grows with the logarithm of the number of devices, a share of corrupted and a share of dropped devices are tolerated
except with negligible probability. The conditions are those of Google's open-source implementation.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from coterie_learning.random import permutation

Adversary = Literal["curious", "split_view"]
SMALL = 50
"""Below this number of members the graph is complete, since little would be saved."""
_LOG_INSECURE = -41 * math.log(2)
"""Logarithm of the largest probability that an update can be read."""
_LOG_LOST = -20 * math.log(2)
"""Logarithm of the largest probability that a sum cannot be recovered."""


class Graph(NamedTuple):
    """The number of neighbours of each device, and how many of them can recover its masks together."""

    neighbours: int
    """Even, or all other members."""
    threshold: int


@lru_cache(maxsize=256)
def graph_of(members: int, *, corrupted: float, dropped: float, adversary: Adversary) -> Graph | None:
    """The smallest graph for so many `members`, of whom at most the shares `corrupted` and `dropped` are so.

    An adversary with a ``split_view`` tells some neighbours that a device survived and others that it dropped out: more
    than half of the honest ones are then needed for either kind of share. None: no graph tolerates that.
    """
    bad, lost = math.ceil(corrupted * members - 1e-9), math.ceil(dropped * members - 1e-9)
    return (_complete if members < SMALL else sparse_graph)(members, bad, lost, adversary)


def sparse_graph(members: int, bad: int, lost: int, adversary: Adversary) -> Graph | None:
    """The smallest ring for so many `members`, at most `bad` of them corrupted and `lost` of them dropped."""
    for neighbours in range(2, members, 2):
        if _is_connected(members, neighbours, bad + lost):
            threshold = _threshold(members, neighbours, bad, adversary)
            if threshold is not None and _is_recoverable(members, neighbours, lost, threshold):
                return Graph(neighbours, threshold)
    return None


def neighbours_of(member: int, members: int, neighbours: int, seed: int) -> Sequence[int]:
    """The places of the neighbours of `member`, ascending; the ring's order is drawn from `seed`."""
    if neighbours >= members - 1:
        return [other for other in range(members) if other != member]
    order = permutation(members, seed, "ring").tolist()
    at = order.index(member)
    half = neighbours // 2
    return sorted(order[(at + step) % members] for step in (*range(-half, 0), *range(1, half + 1)))


def _complete(members: int, bad: int, lost: int, adversary: Adversary) -> Graph | None:
    """A threshold of two thirds plus one, or of all that remain when `lost` are dropped, if that is safe."""
    others = members - 1
    threshold = min(2 * members // 3 + 1, others - lost)
    fewest = bad + 1 if adversary == "curious" else (others + bad) // 2 + 1
    return Graph(others, threshold) if threshold >= fewest else None


def _is_connected(members: int, neighbours: int, bad: int) -> bool:
    """Whether honest survivors stay connected: two runs of `neighbours` / 2 bad ones would separate them."""
    if neighbours > bad or members - neighbours < 2:
        return True
    gaps = math.log(members) + math.log(members - neighbours - 1 or 1) - math.log(2)
    return gaps + _log_choose(members - neighbours, bad - neighbours) - _log_choose(members, bad) < _LOG_INSECURE


def _threshold(members: int, neighbours: int, bad: int, adversary: Adversary) -> int | None:
    """The smallest threshold that no device's corrupted neighbours reach."""
    limit = _LOG_INSECURE - math.log(members)

    def reaches(threshold: int) -> float:
        """The logarithm of the probability that one device's corrupted neighbours suffice for either kind of share."""
        fewest = threshold if adversary == "curious" else 2 * threshold - neighbours
        return _log_tail(members - 1, bad, neighbours, fewest)

    return _first(lambda threshold: reaches(threshold) <= limit, neighbours)


def _is_recoverable(members: int, neighbours: int, lost: int, threshold: int) -> bool:
    return _log_tail(members - 1, lost, neighbours, neighbours - threshold + 1) <= _LOG_LOST - math.log(members)


def _first(holds: Callable[[int], bool], most: int) -> int | None:
    """The smallest number from 1 to `most` for which the monotone `holds`; None: there is none."""
    if not holds(most):
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _log_tail(population: int, marked: int, drawn: int, fewest: int) -> float:
    """The logarithm of the probability that at least `fewest` of `drawn` are marked (hypergeometric)."""
    found = np.arange(max(fewest, 0, drawn - population + marked), min(marked, drawn) + 1)
    if not found.size:
        return -math.inf
    ways = _log_choose(marked, found) + _log_choose(population - marked, drawn - found)
    largest = float(ways.max())
    return largest - _log_choose(population, drawn) + math.log(math.fsum(np.exp(ways - largest)))


@overload
def _log_choose(count: int, chosen: int) -> float: ...
@overload
def _log_choose(count: int, chosen: NDArray[np.int64]) -> NDArray[np.float64]: ...
def _log_choose(count: int, chosen: int | NDArray[np.int64]) -> float | NDArray[np.float64]:
    logarithms = _log_factorials(count.bit_length())
    ways: float | NDArray[np.float64] = logarithms[count] - logarithms[chosen] - logarithms[count - chosen]
    return ways


@cache
def _log_factorials(bits: int) -> NDArray[np.float64]:
    """Logarithms of the factorials of all numbers of so many bits."""
    return np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, 2**bits)))))
