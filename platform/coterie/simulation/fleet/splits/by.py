"""Natural split: samples are grouped by a column of the data, e.g. the user who wrote them."""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.splits import Float64, Int64, Split


class By(Split, frozen=True, tag="by"):
    """Each value of a column is a device, in ascending order; `devices` takes the first so many."""

    column_name: Annotated[str, Meta(min_length=1, description="the column, or ``file``: each file of a directory")] = (
        "user"
    )

    def column(self) -> str | None:
        return self.column_name

    def owners(
        self,
        labels: Int64,  # noqa: ARG002
        columns: Mapping[str, NDArray[np.generic]],
        *,
        devices: int | None,
        rng: np.random.Generator,  # noqa: ARG002 - nothing is drawn
    ) -> Int64:
        if self.column_name not in columns:
            known = ", ".join(sorted(columns)) or "no other column"
            raise DoesNotFit(detail=f"the data have no column {self.column_name!r} to split by; there is {known}")
        found, owners = np.unique(columns[self.column_name], return_inverse=True)
        if devices is not None and devices > len(found):
            raise DoesNotFit(detail=f"{self.column_name} has {len(found)} values, {devices} devices are asked for")
        kept: Int64 = np.where(owners < (devices or len(found)), owners, -1).astype(np.int64)
        return kept

    def mixes(self, labels: Int64, *, classes: int, devices: int, rng: np.random.Generator) -> Float64:  # noqa: ARG002
        raise DoesNotFit(detail=f"devices by {self.column_name} have the samples that are theirs; leave --each out")
