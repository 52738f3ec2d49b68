"""A class that a device has not seen before is introduced: workload *introduction* of Cartel.

Daga et al. 2019, doi 10.1145/3357223.3362708.
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie.simulation.fleet.drifts import Drift, Ordered
from coterie.simulation.fleet.splits import Int64


class Introduced(Drift, frozen=True, tag="introduced"):
    """On some devices all samples of one of their classes come in the second half, among the others.

    The class is that of a randomly drawn sample. Where more than half of the samples are of that class it arrives
    earlier, as soon as all others have arrived; a device with one class has nothing to introduce.
    """

    share: Annotated[float, Meta(gt=0, le=1, description="of devices, whose data change")] = 0.3

    def order(
        self,
        rows: Int64,
        labels: Int64,
        columns: Mapping[str, NDArray[np.generic]],  # noqa: ARG002
        *,
        batch: int,
        rng: np.random.Generator,
    ) -> Ordered:
        shuffled, is_changed = rng.permutation(rows), rng.random() < self.share
        if not is_changed or not len(rows):
            return Ordered(shuffled)
        is_new = labels[shuffled] == labels[shuffled[rng.integers(len(rows))]]
        others = shuffled[~is_new]
        first = min(len(rows) // 2, len(others)) // batch * batch
        if not first:
            return Ordered(shuffled)
        later = rng.permutation(np.concatenate([others[first:], shuffled[is_new]]))
        return Ordered(np.concatenate([others[:first], later]), first)
