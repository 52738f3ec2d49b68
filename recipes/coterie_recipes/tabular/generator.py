"""Milling machines by the rules of AI4I 2020 (Matzka 2020): heat, power, strain and wear decide when one fails.

Each machine has loads, a hall and a mix of work of its own, so that it knows some kinds of failure well and others from
one or two cases. Failures are few: the share that is right would praise a model that never warns.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_recipes.recipe import Float32, Person, Samples, divided

Float64 = NDArray[np.float64]
FAULTS = ("sound", "fault")
QUALITIES = ("L", "M", "H")
COLUMNS = (
    "Type",
    "Air temperature [K]",
    "Process temperature [K]",
    "Rotational speed [rpm]",
    "Torque [Nm]",
    "Tool wear [min]",
)
"""As AI4I 2020 names them; the type is a letter."""
WEAR = 5
ROWS = 320
"""Work-pieces of one machine."""
_MIDDLE = np.array([0.6, 300.0, 310.0, 1540.0, 40.0, 108.0])
_SPREAD = np.array([0.7, 2.0, 1.5, 180.0, 10.0, 63.0])
"""About what the data set has; the same for all, so that nobody's own mean is needed."""
RANDOM_FAULTS = 0.004


class Machine(NamedTuple):
    """What stays the same of one machine."""

    qualities: Float64
    """Shares of the qualities L, M and H."""
    air_k: float
    cooling_k: float
    """By how much the process is warmer than the air, on average."""
    power_w: float
    torque_nm: float
    tool_min: float
    """Minutes after which its tool is replaced."""


def draw(seed: int, number: int) -> Person:
    """Machine `number` of the population of `seed`."""
    rng = np.random.default_rng([seed, number])
    machine = Machine(
        qualities=rng.dirichlet([3.0, 1.5, 0.7]),
        air_k=rng.normal(300, 2),
        cooling_k=rng.normal(9.6, 0.8),
        power_w=rng.normal(6300, 500),
        torque_nm=rng.normal(42, 5),
        tool_min=rng.uniform(190, 235),
    )
    table, faults = _work(machine, rng)
    return divided(samples_of(table, faults))


def samples_of(table: Float64, faults: NDArray[np.int64]) -> Samples:
    """Rows [n, 6] in the units of `COLUMNS`, the type as 0, 1 or 2: float32 [n, 6] about 0, and 1 where one failed."""
    x: Float32 = ((table - _MIDDLE) / _SPREAD).astype(np.float32)
    return Samples(x, faults)


def _work(machine: Machine, rng: np.random.Generator) -> tuple[Float64, NDArray[np.int64]]:
    quality = rng.choice(3, ROWS, p=machine.qualities)
    air = machine.air_k + 0.3 * np.cumsum(rng.normal(0, 0.3, ROWS))
    air = machine.air_k + np.clip(air - machine.air_k, -3, 3)
    process = air + machine.cooling_k + rng.normal(0, 0.7, ROWS)
    torque = np.clip(rng.normal(machine.torque_nm, 10, ROWS), 4, 76)
    power = np.clip(machine.power_w + rng.normal(0, 1200, ROWS), 2500, 11000)
    speed = np.clip(power / torque * 60 / (2 * np.pi), 1150, 2900)
    wear = np.empty(ROWS)
    worn = rng.uniform(0, machine.tool_min)
    for row in range(ROWS):
        wear[row] = worn
        worn = 0.0 if worn > machine.tool_min else worn + (5, 3, 2)[int(quality[row])]
    table = np.stack([quality, air, process, speed, torque, wear], axis=1)
    return table, _fails(table, rng)


def _fails(table: Float64, rng: np.random.Generator) -> NDArray[np.int64]:
    """The rules of the data set."""
    quality, air, process, speed, torque, wear = table.T
    watts = torque * speed * 2 * np.pi / 60
    hot = (process - air < 8.6) & (speed < 1380)
    power = (watts < 3500) | (watts > 9000)
    strain = wear * torque > np.array([11_000, 12_000, 13_000])[quality.astype(np.int64)]
    tool = (wear > 200) & (rng.random(len(table)) < 0.3)
    chance = rng.random(len(table)) < RANDOM_FAULTS
    fails: NDArray[np.int64] = (hot | power | strain | tool | chance).astype(np.int64)
    return fails
