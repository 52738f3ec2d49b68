"""Samples in the order of a column of the data, e.g. the time at which each was taken."""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.drifts import Drift, Ordered
from coterie.simulation.fleet.splits import Int64


class By(Drift, frozen=True, tag="by"):
    """Ascending by a column; ties in the order of the data."""

    column_name: Annotated[str, Meta(min_length=1, description="the column")] = "time"

    def column(self) -> str | None:
        return self.column_name

    def order(
        self,
        rows: Int64,
        labels: Int64,  # noqa: ARG002
        columns: Mapping[str, NDArray[np.generic]],
        *,
        batch: int,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002 - nothing is drawn
    ) -> Ordered:
        if self.column_name not in columns:
            known = ", ".join(sorted(columns)) or "no other column"
            raise DoesNotFit(
                detail=f"the data have no column {self.column_name!r} to come in order of; there is {known}"
            )
        there = np.sort(rows)
        return Ordered(there[np.argsort(columns[self.column_name][there], kind="stable")])
