"""Silhouettes: how much nearer points are to their own group (Rousseeuw 1987, doi 10.1016/0377-0427(87)90125-7)."""

import numpy as np
from numpy.typing import NDArray

from coterie_learning.grouping.distances import Distances


def mean_silhouette(distances: Distances, labels: NDArray[np.int64]) -> float:
    """The mean silhouette, from -1 to 1; a group of one point counts 0. There must be at least two groups."""
    groups = int(labels.max()) + 1
    member = np.zeros((len(labels), groups), np.float32)
    member[np.arange(len(labels)), labels] = 1
    sizes = member.sum(axis=0)
    sums = distances @ member
    own_size = sizes[labels]
    own = sums[np.arange(len(labels)), labels] / np.maximum(own_size - 1, 1)
    means = sums / sizes
    means[np.arange(len(labels)), labels] = np.inf
    nearest = means.min(axis=1)
    larger = np.maximum(own, nearest)
    width = np.where((own_size > 1) & (larger > 0), (nearest - own) / np.where(larger > 0, larger, 1), 0)
    return float(width.mean())
