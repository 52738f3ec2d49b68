"""The state of every device as columns: about a hundred bytes each, without objects."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from coterie.simulation.fleet.availability import Availability, Habitual
from coterie.simulation.fleet.measured import measured
from coterie.simulation.fleet.profile import FleetProfile
from coterie.simulation.fleet.splits import Float64, Int64
from coterie.simulation.scenario import Speed
from coterie.twin.trace import Trace
from coterie_learning.random import derive_seed
from coterie_wire.conditions import Requirements

NEVER = -1


@dataclass(frozen=True, eq=False)
class Traits:
    """Constant properties; they do not depend on the number of devices."""

    availability: Availability
    slowness: Float64
    """[devices]: factor of each device's computing time over the fleet's speed."""
    uplink_bytes_s: Float64
    downlink_bytes_s: Float64
    waits_s: Float64
    """[devices]: seconds of waiting in a round, besides training, transfers and the fleet's latency."""
    lost: Float64
    """[devices]: share of parts in rounds that never deliver."""

    @classmethod
    def draw(cls, fleet: FleetProfile | Trace, requirements: Requirements, *, devices: int, seed: int) -> "Traits":
        """Determined by `seed`. Raises NoHistory where a trace has too little data."""
        if isinstance(fleet, Trace):
            found = measured(fleet, devices=devices, seed=seed)
            return cls(
                found.availability,
                found.sample_s / Speed().sample_s,
                found.uplink_bytes_s,
                np.full(devices, Speed().downlink_bytes_s),
                found.waits_s,
                found.lost,
            )
        speed, week = fleet.speed, [fleet.habits] if fleet.weekend is None else [fleet.habits, fleet.weekend]
        shifts, slowness, straggles, makes = (
            np.random.default_rng(derive_seed(seed, what)) for what in ("shift", "slowness", "straggles", "class")
        )
        slow = np.exp(slowness.normal(0, speed.spread, devices))
        slow[straggles.random(devices) < speed.stragglers] *= speed.straggler_factor
        up, down = _same(speed.uplink_bytes_s, devices), _same(speed.downlink_bytes_s, devices)
        if fleet.classes:
            ends = np.cumsum([one.share for one in fleet.classes])
            of = np.minimum(np.searchsorted(ends, makes.random(devices), side="right"), len(ends) - 1)
            slow *= np.array([one.slowness for one in fleet.classes])[of]
            up, down = (
                np.array(rates)[of]
                for rates in (
                    [one.uplink_bytes_s for one in fleet.classes],
                    [one.downlink_bytes_s for one in fleet.classes],
                )
            )
        spread_h = fleet.habits.spread_h
        shift_h = shifts.uniform(-spread_h, spread_h, devices)
        waits, lost = _same(0.0, devices), _same(fleet.lost_share, devices)
        return cls(Habitual.of(week, requirements, shift_h), slow, up, down, waits, lost)


def _same(value: float, devices: int) -> Float64:
    """[devices], stored as a single value."""
    return np.broadcast_to(np.float64(value), (devices,))


@dataclass(eq=False)
class Columns:
    """Variable state by device."""

    busy_until_s: Float64
    held: Int64
    """Number of the version that it has downloaded, or `NEVER`."""
    asked_in: Int64
    """The last round that invited it, or 0."""
    counted: Int64
    """Rounds in which its update counted."""
    loss: Float64
    """Loss reported with its last update, or NaN."""
    trained_s: Float64
    """Training time of its last update in seconds, or NaN."""
    released_in: Int64
    """Place, in a stream of releases, of the newest sum that it took part in, or `NEVER`."""
    privacy_spent: Float64
    """Privacy cost of releases to it: μ²."""

    @classmethod
    def of(cls, devices: int) -> "Columns":
        """Initial columns."""
        nothing = np.full(devices, np.nan)
        zeros, never = np.zeros(devices, np.int64), np.full(devices, NEVER, np.int64)
        return cls(
            busy_until_s=np.zeros(devices),
            held=never,
            asked_in=zeros,
            counted=zeros.copy(),
            loss=nothing,
            trained_s=nothing.copy(),
            released_in=never.copy(),
            privacy_spent=np.zeros(devices),
        )

    def stored(self) -> dict[str, Int64]:
        """The columns by name, their bits as int64."""
        return {field.name: getattr(self, field.name).view(np.int64) for field in fields(self)}

    @classmethod
    def restored(cls, stored: dict[str, Int64]) -> "Columns":
        """The inverse of `stored`."""
        floats = {"busy_until_s", "loss", "trained_s", "privacy_spent"}
        found: dict[str, NDArray[np.float64] | Int64] = {
            field.name: (stored[field.name].view(np.float64) if field.name in floats else stored[field.name]).copy()
            for field in fields(cls)
        }
        return cls(**found)  # type: ignore[arg-type]
