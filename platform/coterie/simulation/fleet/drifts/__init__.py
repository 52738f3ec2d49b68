"""Slot `drift` of fleets: the order in which a device's samples arrive over time. One module a kind."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.simulation.fleet.splits import Int64
from coterie_learning.kinds import Kind


class Ordered(NamedTuple):
    """The samples of one device, in the order of arrival."""

    rows: Int64
    changes_at: int | None = None
    """Place of the first sample after the change of its data, at the start of a batch; None: unknown."""


class Drift(Kind, frozen=True):
    """Hyperparameters of an order."""

    def column(self) -> str | None:
        """The column that determines the order; None: there is none."""
        return None

    def order(
        self,
        rows: Int64,
        labels: Int64,
        columns: Mapping[str, NDArray[np.generic]],
        *,
        batch: int,
        rng: np.random.Generator,
    ) -> Ordered:
        """The samples `rows` of one device, of all that there are: `labels` and `columns` [samples].

        They come `batch` at a time. Raises DoesNotFit.
        """
        raise NotImplementedError
