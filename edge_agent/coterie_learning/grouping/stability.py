"""Whether halves of the models are divided alike: prediction strength (Tibshirani and Walther 2005).

doi 10.1198/106186005X59243. A cloud of models without groups can be divided too, and often with a fair silhouette, but
each half of it elsewhere.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coterie_learning.grouping.distances import Distances

HALVINGS = 5
MOST_OF_A_GROUP = 40
"""Members of one group in one half, at most: the cost does not grow with the fleet."""


class Divided(NamedTuple):
    """A part of the models in groups."""

    labels: NDArray[np.int64]
    """The group of each model."""
    exemplars: NDArray[np.int64]
    """The model in the middle of each group."""


Divide: TypeAlias = Callable[[Distances], Divided | None]


def prediction_strength(distances: Distances, labels: NDArray[np.int64], divide: Divide) -> float:
    """From 0 to 1: how surely two models that one half puts together are together by the other half's groups too.

    `distances` [models, models] and `labels` [models] are those of the division in question; `divide` divides a part of
    the models into as many groups, or gives None. As in the paper the least sure group of a half counts, and halvings
    are averaged; each half has half of every group.
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
    """The odd one of a group goes to either half."""
    halves: tuple[list[int], list[int]] = ([], [])
    for group in range(int(labels.max()) + 1):
        members = generator.permutation(np.flatnonzero(labels == group))
        middle = (len(members) + int(generator.integers(2))) // 2
        halves[0].extend(members[:middle][:MOST_OF_A_GROUP].tolist())
        halves[1].extend(members[middle:][:MOST_OF_A_GROUP].tolist())
    return np.array(halves[0], np.int64), np.array(halves[1], np.int64)


def _least_agreement(labels: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Share of the pairs in a group of `labels` that `predicted` has together, of the group where it is least."""
    least = 1.0
    for group in range(int(labels.max()) + 1):
        together = np.bincount(predicted[labels == group])
        members = int(together.sum())
        if members > 1:
            least = min(least, float((together * (together - 1)).sum()) / (members * (members - 1)))
    return least
