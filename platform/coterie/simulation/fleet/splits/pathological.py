"""A few classes a device: samples sorted by class are cut into shards (McMahan et al. 2017, arXiv 1602.05629, §3)."""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.splits import Float64, Int64, Split, shares, wanted


class Pathological(Split, frozen=True, tag="pathological"):
    """Each device gets `shards` shards, each mostly of one class; a shard on a border has two."""

    shards: Annotated[int, Meta(ge=1, le=1000, description="shards, or classes, a device")] = 2

    def owners(
        self,
        labels: Int64,
        columns: Mapping[str, NDArray[np.generic]],  # noqa: ARG002
        *,
        devices: int | None,
        rng: np.random.Generator,
    ) -> Int64:
        shards = wanted(devices) * self.shards
        if shards > len(labels):
            raise DoesNotFit(detail=f"{len(labels)} samples do not make {shards} shards; take fewer devices")
        order = rng.permutation(len(labels))
        order = order[np.argsort(labels[order], kind="stable")]
        owners = np.empty(len(labels), np.int64)
        owners[order] = (rng.permutation(shards) % wanted(devices))[np.arange(len(labels)) * shards // len(labels)]
        return owners

    def mixes(self, labels: Int64, *, classes: int, devices: int, rng: np.random.Generator) -> Float64:
        present = np.flatnonzero(shares(labels, classes))
        if self.shards > len(present):
            raise DoesNotFit(detail=f"the samples have {len(present)} classes, {self.shards} a device are asked for")
        lots = rng.random((devices, len(present))).argsort(axis=1)[:, : self.shards]
        mixes = np.zeros((devices, classes))
        np.put_along_axis(mixes, present[lots], 1 / self.shards, axis=1)
        return mixes
