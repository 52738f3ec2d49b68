"""Whether two halves of the models are divided alike: prediction strength (Tibshirani and Walther 2005).

doi 10.1198/106186005X59243. Models without any group structure can be divided too, often with a good silhouette, but
each half of them differently.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coterie_learning.grouping.distances import Distances

HALVINGS = 5
MOST_OF_A_GROUP = 40
"""At most so many members of a group are used in each half, so that the cost does not grow with the fleet."""


class Divided(NamedTuple):
    """A subset of the models, divided into groups."""

    labels: NDArray[np.int64]
    """The group of each model."""
    exemplars: NDArray[np.int64]
    """The model in the middle of each group."""


Divide: TypeAlias = Callable[[Distances], Divided | None]


def prediction_strength(distances: Distances, labels: NDArray[np.int64], divide: Divide) -> float:
    """From 0 to 1: how often two models grouped together by one half are also together by the other half's groups.

    `distances` [models, models] and `labels` [models] are those of the division to be judged; `divide` divides a subset
    of the models into as many groups, or returns None. As in the paper, the group with the lowest strength of a half
    counts, and several halvings are averaged; each half has half of every group.
    """
    generator = np.random.default_rng(0)
    found = []
    for _ in range(HALVINGS):
        halves = _halve(labels, generator)
        divided = [divide(distances[np.ix_(half, half)]) for half in halves]
        for own, other in ((0, 1), (1, 0)):
            here, there = divided[own], divided[other]
            if here is None or there is None:
                found.append(0.0)
                continue
            middles = halves[other][there.exemplars]
            found.append(_least_agreement(here.labels, distances[np.ix_(halves[own], middles)].argmin(axis=1)))
    return float(np.mean(found))


def _halve(labels: NDArray[np.int64], generator: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two random halves; the odd member of a group goes to either."""
    halves: tuple[list[int], list[int]] = ([], [])
    for group in range(int(labels.max()) + 1):
        members = generator.permutation(np.flatnonzero(labels == group))
        middle = (len(members) + int(generator.integers(2))) // 2
        halves[0].extend(members[:middle][:MOST_OF_A_GROUP].tolist())
        halves[1].extend(members[middle:][:MOST_OF_A_GROUP].tolist())
    return np.array(halves[0], np.int64), np.array(halves[1], np.int64)


def _least_agreement(labels: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Share of the pairs in a group of `labels` that are together in `predicted`, for the group where it is least."""
    least = 1.0
    for group in range(int(labels.max()) + 1):
        together = np.bincount(predicted[labels == group])
        members = int(together.sum())
        if members > 1:
            least = min(least, float((together * (together - 1)).sum()) / (members * (members - 1)))
    return least
