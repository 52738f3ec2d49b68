"""Growing one tree of a random forest, level by level (Breiman 2001, doi 10.1023/A:1010933404324); NumPy only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.portions.trees import Tree
from coterie_wire.tensors import Float32

BINS = 32
"""Number of candidate thresholds, evenly spaced between the smallest and the largest value of a feature."""


class _Level(NamedTuple):
    """The nodes of one level, from left to right."""

    code: NDArray[np.int64]
    """As in `Tree`."""
    threshold: Float32
    child: NDArray[np.int64]
    """Which node of the next level is the left child; the right one follows it."""


def grow_tree(x: Float32, labels: NDArray[np.int64], *, depth: int, rng: np.random.Generator) -> Tree:
    """A tree of depth at most `depth`, on a bootstrap sample of `x` [n, features].

    A split minimises the Gini impurity over a random subset of features for each node, of square root size.
    """
    rows = rng.integers(0, len(x), len(x))
    x = x[rows]
    found, labels = np.unique(labels[rows], return_inverse=True)
    low, width = x.min(axis=0), np.ptp(x, axis=0) / BINS
    bins = np.minimum((x - low) / np.where(width > 0, width, 1), BINS - 1).astype(np.int64)
    levels: list[_Level] = []
    node = np.zeros(len(x), np.int64)
    for left in range(depth, -1, -1):
        cell = node * len(found) + labels
        counts = np.bincount(cell, minlength=(node.max() + 1) * len(found)).reshape(-1, len(found))
        code = -1 - found[counts.argmax(axis=1)]
        threshold, child = np.zeros(len(code), np.float32), np.zeros(len(code), np.int64)
        levels.append(_Level(code, threshold, child))
        if not left:
            break
        features = rng.random((len(counts), x.shape[1])).argsort(axis=1)[:, : max(1, round(x.shape[1] ** 0.5))]
        impure = counts.max(axis=1) < counts.sum(axis=1)
        split, feature, at = _best_splits(bins, labels, node, counts, features)
        split &= impure
        code[split] = feature[split]
        threshold[split] = (low + (at[:, None] + 1) * width)[split, feature[split]]
        child[split] = 2 * np.arange(split.sum())
        going = split[node]
        if not going.any():
            break
        bins, labels, node = bins[going], labels[going], node[going]
        node = child[node] + (bins[np.arange(len(node)), feature[node]] > at[node])
    return _preorder(levels)


def _best_splits(
    bins: NDArray[np.int64],
    labels: NDArray[np.int64],
    node: NDArray[np.int64],
    counts: NDArray[np.int64],
    features: NDArray[np.int64],
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """For each node whether its samples can be split by one of its `features`, by which, and after which bin."""
    nodes, classes = counts.shape
    tried = features.shape[1]
    slot = node[:, None] * tried + np.arange(tried)
    found = bins[np.arange(len(bins))[:, None], features[node]]
    index = (slot * BINS + found) * classes + labels[:, None]
    histogram = np.bincount(index.ravel(), minlength=nodes * tried * BINS * classes)
    smaller = histogram.reshape(nodes, tried, BINS, classes).cumsum(axis=2)[:, :, :-1].astype(np.float32)
    larger = counts[:, None, None, :] - smaller
    sizes = smaller.sum(axis=3), larger.sum(axis=3)
    purity = (smaller**2).sum(axis=3) / np.maximum(sizes[0], 1) + (larger**2).sum(axis=3) / np.maximum(sizes[1], 1)
    purity[(sizes[0] == 0) | (sizes[1] == 0)] = -1
    best = purity.reshape(nodes, -1).argmax(axis=1)
    column, at = np.divmod(best, BINS - 1)
    possible = purity.reshape(nodes, -1).max(axis=1) >= 0
    return possible, features[np.arange(nodes), column], at


def _preorder(levels: list[_Level]) -> Tree:
    code: list[int] = []
    threshold: list[float] = []
    waiting = [(0, 0)]
    while waiting:
        depth, node = waiting.pop()
        level = levels[depth]
        code.append(int(level.code[node]))
        threshold.append(float(level.threshold[node]))
        if level.code[node] >= 0:
            child = int(level.child[node])
            waiting += [(depth + 1, child + 1), (depth + 1, child)]
    return Tree.from_preorder(np.array(code, np.int16), np.array(threshold, np.float32))
