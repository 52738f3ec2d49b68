"""IID split: all devices have the same distribution."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from coterie.simulation.fleet.splits import Float64, Int64, Split, shares, wanted


class Iid(Split, frozen=True, tag="iid"):
    """Devices get equal numbers of samples, up to one."""

    def owners(
        self,
        labels: Int64,
        columns: Mapping[str, NDArray[np.generic]],  # noqa: ARG002
        *,
        devices: int | None,
        rng: np.random.Generator,
    ) -> Int64:
        owners: Int64 = np.arange(len(labels)) % wanted(devices)
        return rng.permutation(owners)

    def mixes(self, labels: Int64, *, classes: int, devices: int, rng: np.random.Generator) -> Float64:  # noqa: ARG002
        return np.tile(shares(labels, classes), (devices, 1))
