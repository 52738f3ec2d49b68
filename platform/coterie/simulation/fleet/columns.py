"""What is known of every device, as columns: about a hundred bytes each, and no objects."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from coterie.simulation.fleet.availability import Availability
from coterie.simulation.fleet.splits import Float64, Int64
from coterie.simulation.scenario import Habits, Speed
from coterie_learning.random import derive_seed
from coterie_wire.conditions import Requirements

NEVER = -1


@dataclass(frozen=True, eq=False)
class Traits:
    """What does not change; the first devices are the same, however many there are."""

    availability: Availability
    slowness: Float64
    """[devices]: times longer than the fleet's speed that each takes to compute."""

    @classmethod
    def draw(cls, speed: Speed, habits: Habits, requirements: Requirements, *, devices: int, seed: int) -> "Traits":
        """Decided by `seed`."""
        shifts, slowness, straggles = (
            np.random.default_rng(derive_seed(seed, what)) for what in ("shift", "slowness", "straggles")
        )
        slow = np.exp(slowness.normal(0, speed.spread, devices))
        slow[straggles.random(devices) < speed.stragglers] *= speed.straggler_factor
        shift_h = shifts.uniform(-habits.spread_h, habits.spread_h, devices)
        return cls(Availability.of(habits, requirements, shift_h), slow)


@dataclass(eq=False)
class Columns:
    """What changes, by device."""

    busy_until_s: Float64
    held: Int64
    """Number of the version that it has downloaded, or `NEVER`."""
    asked_in: Int64
    """The last round that asked it, or 0."""
    counted: Int64
    """Rounds in which its update counted."""
    loss: Float64
    """As its last update told it, or not a number."""
    trained_s: Float64
    """Seconds that it trained for that, or not a number."""

    @classmethod
    def of(cls, devices: int) -> "Columns":
        """Devices that have taken no part yet."""
        nothing = np.full(devices, np.nan)
        zeros = np.zeros(devices, np.int64)
        return cls(np.zeros(devices), np.full(devices, NEVER, np.int64), zeros, zeros.copy(), nothing, nothing.copy())

    def stored(self) -> dict[str, Int64]:
        """By their names, the bits of the numbers as int64."""
        return {field.name: getattr(self, field.name).view(np.int64) for field in fields(self)}

    @classmethod
    def restored(cls, stored: dict[str, Int64]) -> "Columns":
        """From what `stored` gave."""
        floats = {"busy_until_s", "loss", "trained_s"}
        found: dict[str, NDArray[np.float64] | Int64] = {
            field.name: (stored[field.name].view(np.float64) if field.name in floats else stored[field.name]).copy()
            for field in fields(cls)
        }
        return cls(**found)  # type: ignore[arg-type]
