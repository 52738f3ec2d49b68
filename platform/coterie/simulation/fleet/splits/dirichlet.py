"""Label skew by a Dirichlet distribution: the smaller alpha, the fewer classes a device has.

Where samples are divided, the shares of the devices are drawn for each class (Yurochkin et al. 2019, arXiv 1905.12022,
§4). Where they are drawn with replacement, the shares of the classes are drawn for each device, around those of all
samples (Hsu et al. 2019, arXiv 1909.06335, §2).
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie.simulation.fleet.splits import Float64, Int64, Split, shares, wanted


class Dirichlet(Split, frozen=True, tag="dirichlet"):
    """Shares of classes are drawn; large alphas are `iid`."""

    alpha: Annotated[float, Meta(gt=0, le=1e6, description="concentration: 0.1 is very unlike, 100 nearly alike")] = 0.3

    def owners(
        self,
        labels: Int64,
        columns: Mapping[str, NDArray[np.generic]],  # noqa: ARG002
        *,
        devices: int | None,
        rng: np.random.Generator,
    ) -> Int64:
        owners = np.empty(len(labels), np.int64)
        for label in np.unique(labels):
            rows = rng.permutation(np.flatnonzero(labels == label))
            ends = np.cumsum(_drawn(np.full(wanted(devices), self.alpha), rng))
            owners[rows] = np.minimum(
                np.searchsorted(ends, (np.arange(len(rows)) + 0.5) / len(rows)), wanted(devices) - 1
            )
        return owners

    def mixes(self, labels: Int64, *, classes: int, devices: int, rng: np.random.Generator) -> Float64:
        present = shares(labels, classes)
        drawn = np.zeros((devices, classes))
        drawn[:, present > 0] = rng.gamma(
            self.alpha * classes * present[present > 0], size=(devices, (present > 0).sum())
        )
        drawn[drawn.sum(axis=1) <= 0] = present  # so concentrated that all shares underflow
        mixes: Float64 = drawn / drawn.sum(axis=1, keepdims=True)
        return mixes


def _drawn(alphas: Float64, rng: np.random.Generator) -> Float64:
    drawn = rng.gamma(alphas)
    if drawn.sum() <= 0:
        drawn[int(rng.integers(len(drawn)))] = 1.0
    found: Float64 = drawn / drawn.sum()
    return found
