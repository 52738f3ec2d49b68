"""How samples are divided among devices. One module a kind."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from coterie.simulation.errors import DoesNotFit
from coterie_learning.kinds import Kind

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


class Split(Kind, frozen=True):
    """Hyperparameters of a division."""

    def column(self) -> str | None:
        """The column that determines the device of a sample; None: there is none."""
        return None

    def owners(
        self,
        labels: Int64,
        columns: Mapping[str, NDArray[np.generic]],
        *,
        devices: int | None,
        rng: np.random.Generator,
    ) -> Int64:
        """The device of each sample [samples], from 0. Raises DoesNotFit."""
        raise NotImplementedError

    def mixes(self, labels: Int64, *, classes: int, devices: int, rng: np.random.Generator) -> Float64:
        """Class probabilities on each device [devices, classes], for drawing samples with replacement.

        A device's probabilities do not depend on the number of devices. Raises DoesNotFit.
        """
        raise NotImplementedError


def wanted(devices: int | None) -> int:
    """The number of devices. Raises DoesNotFit where it is not given."""
    if devices is None:
        raise DoesNotFit(detail="this split makes as many devices as it is told: give --devices")
    return devices


def shares(labels: Int64, classes: int) -> Float64:
    """The share of each class [classes]; they sum to 1."""
    found: Float64 = np.bincount(labels, minlength=classes) / len(labels)
    return found
