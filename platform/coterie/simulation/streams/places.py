"""Next-place prediction: hourly visits to places by people who share routines.

A synthetic substitute for the campus trace of Colla (Lu et al. 2019, SEC). Each group has a routine, a place for every
hour; each person's own routine differs from it in some hours. The next place is that of the routine, or the current
one, or any of the person's places.
"""

from typing import Annotated

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.clock import DAY_S
from coterie.simulation.learner import Task
from coterie.simulation.streams import Drawn, Stream
from coterie_wire.bundle import TensorSpec

INPUT = "x"


class Places(Stream, frozen=True, tag="places"):
    """A sample is the present place and the hour of the next visit, both one-hot; its label is the next place."""

    places: Annotated[int, Meta(ge=2, le=10_000, description="places there are")] = 40
    hours: Annotated[int, Meta(ge=1, le=24, description="parts of a day")] = 12
    groups: Annotated[
        int, Meta(ge=1, le=100, description="routines that people share; device i has that of i modulo it")
    ] = 3
    personal: Annotated[float, Meta(ge=0, le=1, description="share of hours in which a person differs")] = 0.1
    routine: Annotated[float, Meta(ge=0, le=1, description="chance that the next place is that of the routine")] = 0.7
    stay: Annotated[float, Meta(ge=0, le=1, description="chance that it is the present one")] = 0.15
    events_per_day: Annotated[float, Meta(gt=0, le=100, description="visits a day, on average")] = 0.7
    cycle_days: Annotated[int, Meta(ge=1, le=365, description="days between two trainings")] = 20
    cycles: Annotated[int, Meta(ge=1, le=100, description="cycles")] = 4
    cloud_devices: Annotated[
        int,
        Meta(ge=1, le=10_000, description="people, beside the devices, whose first month is the initial cloud data"),
    ] = 12
    cloud_days: Annotated[int, Meta(ge=1, le=3650, description="days of theirs")] = 30

    def __post_init__(self) -> None:
        if self.routine + self.stay > 1:
            raise ValueError("routine and stay are chances of the same event, and exceed 1 together")

    def draw(self, *, devices: int, seed: int) -> Drawn:
        rng = np.random.default_rng([seed, 0])
        routines = rng.integers(0, self.places, (self.groups, self.hours))
        cloud = [
            self._visits(routines, person, self.cloud_days, np.random.default_rng([seed, 1, person]))
            for person in range(self.cloud_devices)
        ]
        days = self.cycle_days * self.cycles
        return Drawn(
            task=Task((TensorSpec(INPUT, "float32", (self.places + self.hours,)),), self.places),
            tick_s=DAY_S,
            cloud=_all([day for person in cloud for day in person]),
            batches=tuple(
                tuple(self._visits(routines, device, days, np.random.default_rng([seed, 2, device])))
                for device in range(devices)
            ),
            groups=tuple(device % self.groups for device in range(devices)),
        )

    def _visits(self, routines: NDArray[np.int64], person: int, days: int, rng: np.random.Generator) -> list[Dataset]:
        """One person's visits, day by day."""
        own = routines[person % self.groups].copy()
        changed = rng.random(self.hours) < self.personal
        own[changed] = rng.integers(0, self.places, int(changed.sum()))
        known = np.unique(own)
        present = int(rng.choice(known))
        found = []
        for _ in range(days):
            hours = np.sort(rng.integers(0, self.hours, rng.poisson(self.events_per_day)))
            x = np.zeros((len(hours), self.places + self.hours), np.float32)
            labels = np.zeros(len(hours), np.int64)
            for row, hour in enumerate(hours):
                chance = rng.random()
                coming = own[hour] if chance < self.routine else rng.choice(known)
                if self.routine <= chance < self.routine + self.stay:
                    coming = present
                x[row, present] = x[row, self.places + hour] = 1
                labels[row] = present = int(coming)
            found.append(Dataset({INPUT: x}, labels))
        return found


def _all(days: list[Dataset]) -> Dataset:
    return Dataset(
        {INPUT: np.concatenate([day.inputs[INPUT] for day in days])}, np.concatenate([day.labels for day in days])
    )
