"""Samples in random order: late ones are distributed like early ones."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from coterie.simulation.fleet.drifts import Drift, Ordered
from coterie.simulation.fleet.splits import Int64


class Steady(Drift, frozen=True, tag="steady"):
    """No drift."""

    def order(
        self,
        rows: Int64,
        labels: Int64,  # noqa: ARG002
        columns: Mapping[str, NDArray[np.generic]],  # noqa: ARG002
        *,
        batch: int,  # noqa: ARG002
        rng: np.random.Generator,
    ) -> Ordered:
        return Ordered(rng.permutation(rows))
