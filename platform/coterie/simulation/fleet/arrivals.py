"""The arrival of samples at a fleet's devices: evenly over the simulated days, a batch at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from coterie.evaluation.datasets import Dataset
from coterie.simulation.fleet.drifts import Drift
from coterie.simulation.fleet.population import Population
from coterie.simulation.fleet.samples import FleetSamples
from coterie.simulation.fleet.splits import Int64
from coterie.simulation.streams import Shift
from coterie_learning.random import derive_seed


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Which samples arrive when; they are read on arrival."""

    data: Dataset
    """The samples of all devices."""
    rows: Sequence[Int64]
    """Rows of each device's samples, in the order of arrival."""
    batch: int
    """Samples in a batch; a device's last one may have fewer."""
    ticks: int
    """The most batches of any device, which is the number of ticks."""
    shifts: tuple[Shift, ...]

    @classmethod
    def drawn(cls, samples: FleetSamples, population: Population, drift: Drift, *, batch: int, seed: int) -> "Arrivals":
        """Determined by `seed`; a device's arrivals do not depend on the number of devices. Raises DoesNotFit."""
        labels, devices = samples.data.classes, len(population.sizes)
        ordered = [
            drift.order(
                population.rows(device),
                labels,
                samples.columns,
                batch=batch,
                rng=np.random.default_rng(derive_seed(seed, "order", device)),
            )
            for device in range(devices)
        ]
        rows = [one.rows for one in ordered]
        found = cls(samples.data, rows, batch, max(-(-len(one) // batch) for one in rows), ())
        shifts = tuple(
            Shift(device, found.tick_of(device, one.changes_at // batch))
            for device, one in enumerate(ordered)
            if one.changes_at is not None
        )
        return cls(samples.data, rows, batch, found.ticks, shifts)

    def batches(self) -> Sequence[Sequence[Dataset]]:
        """Batches of each device, by tick; empty where it has fewer than others."""
        return [_OfDevice(self, device) for device in range(len(self.rows))]

    def tick_of(self, device: int, place: int) -> int:
        """The tick at which the batch at `place` of a device arrives."""
        return place * self.ticks // self.count(device)

    def count(self, device: int) -> int:
        """Number of batches of a device."""
        return -(-len(self.rows[device]) // self.batch)


@dataclass(frozen=True, eq=False)
class _OfDevice(Sequence[Dataset]):
    arrivals: Arrivals
    device: int

    def __len__(self) -> int:
        return self.arrivals.ticks

    @overload
    def __getitem__(self, tick: int) -> Dataset: ...
    @overload
    def __getitem__(self, tick: slice) -> Sequence[Dataset]: ...
    def __getitem__(self, tick: int | slice) -> Dataset | Sequence[Dataset]:
        if isinstance(tick, slice):
            return [self[one] for one in range(*tick.indices(len(self)))]
        every = self.arrivals
        count = every.count(self.device)
        place = -(-tick * count // every.ticks)  # the first that arrives at this tick or later
        is_due = place < count and every.tick_of(self.device, place) == tick
        start = place * every.batch if is_due else 0
        return every.data.take(every.rows[self.device][start : start + every.batch if is_due else 0])
