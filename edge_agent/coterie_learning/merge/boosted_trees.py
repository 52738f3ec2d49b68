"""Gradient-boosted trees, one level a round, by histograms of derivatives that devices sum over their samples.

Splits and leaves are those of XGBoost (Chen and Guestrin 2016, arXiv 1603.02754, equations 5 to 7), summed over the
outputs, with leaves of one value for each output. Trees grow a level at a time and every level is a boosting step with
newly computed derivatives (Ponomareva et al. 2017, arXiv 1710.11547, section 2.3). Before the first tree, some rounds
move the common bin edges to the quantiles of the samples weighted by their curvature, as XGBoost's sketch does
(appendix A), using the same histograms. It loses to a network where the target depends on a sum of many columns.
Everything is a mean over samples: `l2` and `min_curvature` are relative to it, and mean the same for any fleet.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from msgspec import Meta

from coterie_learning.merge import Float64
from coterie_learning.merge._solving import Solving
from coterie_wire.tensors import Float32, Tensors

EVEN_SHARE = 0.1
"""Share of the samples taken as evenly spread between the edges, so that some edges lie between rare values."""
ALIKE = 1 - 1e-6
"""Splits with at least this share of the best gain are ties: the first is taken, so that rounding does not matter."""


class Split(NamedTuple):
    """A split of a node: samples whose `feature` is at most edge `edge` go left."""

    feature: int
    edge: int
    gain: float


class BoostedTrees(Solving, frozen=True, tag="boosted_trees"):
    """Rounds that place the edges, then one round for each level of each tree; a complete ensemble no longer changes.

    The model's parameters, for T trees of D levels, F features, B bins and K outputs: ``feature`` and ``threshold``
    [T, 2^D - 1] in the order of a heap, ``value`` [T, 2^D, K], ``base`` [K], ``edges`` [F, B - 1], and ``place`` [3]:
    how often edges were placed, and the tree and the level that grow next. A node without a split keeps its initial
    threshold, which sends every sample left. The tables are [2^(D - 1) nodes · F · B, K].
    """

    learning_rate: Annotated[float, Meta(gt=0, le=1, description="share of a leaf's best step that is taken")] = 0.3
    l2: Annotated[
        float, Meta(ge=0, le=1e6, description="λ: what is added to a leaf's curvature, as a share of the samples")
    ] = 3e-4
    min_curvature: Annotated[
        float, Meta(ge=0, le=1, description="least curvature on each side of a split, as a share of the samples")
    ] = 5e-4
    min_gain: Annotated[float, Meta(ge=0, le=1e6, description="γ: least gain of a split, per sample")] = 0.0
    edge_rounds: Annotated[
        int, Meta(ge=0, le=20, description="rounds that move the bins' edges to quantiles; 0: they stay as agreed")
    ] = 2
    takes: ClassVar[frozenset[str]] = frozenset({"feature", "threshold", "value", "base", "edges", "place"})

    def solve(self, model: Tensors, gradients: Float64, curvatures: Float64) -> Mapping[str, Float32 | Float64]:
        features, edges = model["edges"].shape
        shape = (-1, features, edges + 1, len(model["base"]))
        histograms = gradients.reshape(shape), curvatures.reshape(shape)
        placed, tree, level = (int(number) for number in model["place"])
        if placed < self.edge_rounds:
            return self._start(model, *histograms)
        if tree == len(model["feature"]):
            return {}
        grown = {name: model[name].copy() for name in ("feature", "threshold", "value")}
        for node in range(1 << level):
            self._grow(grown, model["edges"], tree, level, node, *(histogram[node] for histogram in histograms))
        last = (2 << level) == model["value"].shape[1]
        place = np.array([placed, tree + last, 0 if last else level + 1], np.float32)
        return {**grown, "place": place}

    def leaf(self, gradients: Float64, curvatures: Float64) -> Float64:
        """The values of a leaf with these sums [..., K]."""
        return -self.learning_rate * _quotient(gradients, curvatures + self.l2)

    def best_split(self, gradients: Float64, curvatures: Float64) -> Split | None:
        """The best split of a node with the histograms [F, B, K]; None where no split is worth it."""
        whole = [histogram[0].sum(axis=0) for histogram in (gradients, curvatures)]
        left = [np.cumsum(histogram, axis=1)[:, :-1] for histogram in (gradients, curvatures)]
        right = [all_of - part for all_of, part in zip(whole, left, strict=True)]
        gain = self._score(*left) + self._score(*right) - self._score(*whole)
        least = np.minimum(left[1].sum(axis=-1), right[1].sum(axis=-1))
        gain = np.where((least >= self.min_curvature) & (least > 0), gain / 2, -np.inf)
        best = float(gain.max(initial=-np.inf))
        if best <= self.min_gain:
            return None
        feature, edge = np.unravel_index(int(np.argmax(gain >= best * ALIKE)), gain.shape)
        return Split(int(feature), int(edge), best)

    def _grow(
        self,
        grown: Mapping[str, Float32],
        edges: Float32,
        tree: int,
        level: int,
        node: int,
        gradients: Float64,
        curvatures: Float64,
    ) -> None:
        """Split `node` of the level, or only update its leaf values."""
        leaves = grown["value"].shape[1] >> level
        first, middle = node * leaves, node * leaves + leaves // 2
        own = grown["value"][tree, first].astype(np.float64)
        split = self.best_split(gradients, curvatures)
        if split is None:
            grown["value"][tree, first] = own + self.leaf(gradients[0].sum(axis=0), curvatures[0].sum(axis=0))
            return
        heap = (1 << level) - 1 + node
        grown["feature"][tree, heap] = split.feature
        grown["threshold"][tree, heap] = edges[split.feature, split.edge]
        for leaf, bins in ((first, slice(split.edge + 1)), (middle, slice(split.edge + 1, None))):
            sums = (histogram[split.feature, bins].sum(axis=0) for histogram in (gradients, curvatures))
            grown["value"][tree, leaf] = own + self.leaf(*sums)

    def _score(self, gradients: Float64, curvatures: Float64) -> Float64:
        """Twice the reduction of the loss by a leaf for samples with these sums [..., K]."""
        found: Float64 = _quotient(gradients**2, curvatures + self.l2).sum(axis=-1)
        return found

    def _start(self, model: Tensors, gradients: Float64, curvatures: Float64) -> Mapping[str, Float32 | Float64]:
        """Edges at the quantiles, and the common base value of all samples."""
        mass = curvatures[0].sum(axis=-1)
        edges = [quantiles(*one) for one in zip(model["edges"], np.maximum(mass, 0), strict=True)]
        step = _quotient(gradients[0, 0].sum(axis=0), curvatures[0, 0].sum(axis=0) + self.l2)
        place = model["place"] + np.array([1, 0, 0], np.float32)
        return {"edges": np.stack(edges), "base": model["base"] - step, "place": place}


def quantiles(edges: Float32, mass: Float64) -> Float64:
    """The same number of edges, at quantiles of `mass` [bins] as estimated from the bins.

    Within a bin samples are taken as evenly spread; the bins at the ends are as wide as all others together.
    """
    bounds = np.concatenate([[2 * edges[0] - edges[-1]], edges, [2 * edges[-1] - edges[0]]]).astype(np.float64)
    widths = np.diff(bounds)
    if mass.sum() <= 0 or widths.sum() <= 0:
        return edges.astype(np.float64)
    inner = np.where((np.arange(len(mass)) > 0) & (np.arange(len(mass)) < len(mass) - 1), widths, 0.0)
    shares = (1 - EVEN_SHARE) * mass / mass.sum() + EVEN_SHARE * _quotient(inner, inner.sum())
    reached = np.concatenate([[0.0], np.cumsum(shares)])
    wanted = reached[-1] * np.arange(1, len(mass)) / len(mass)
    found: Float64 = np.interp(wanted, reached, bounds)
    return found


def _quotient(numbers: Float64, by: Float64 | np.float64) -> Float64:
    """The quotient; 0 where the divisor is zero."""
    safe = np.where(by > 0, by, 1.0)
    found: Float64 = np.where(by > 0, numbers / safe, 0.0)
    return found
