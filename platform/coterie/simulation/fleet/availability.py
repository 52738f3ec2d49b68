"""When the devices of a fleet may train: `coterie.simulation.days`, vectorised over devices."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.simulation.days import QUARTER_S, QUARTERS, Day, may_train
from coterie.simulation.fleet.splits import Float64, Int64
from coterie.simulation.scenario import Habits
from coterie_wire.conditions import Requirements

Bools = NDArray[np.bool_]
WEEK = 7 * QUARTERS
"""Quarters of an hour."""
WORKDAYS = 5
CACHED = 1 << 14
"""Devices processed at a time, so that the arrays fit into a core's cache."""


class Availability(Protocol):
    """The daily or weekly schedules of all devices."""

    def ready(self, time_s: float) -> Bools:
        """[devices]: which may train at `time_s`. Time begins on a Monday."""

    def days(self, devices: Int64) -> list[Day]:
        """The schedules of `devices`."""


@dataclass(frozen=True, eq=False)
class Habitual:
    """Devices with the same habits, shifted in time."""

    week: Sequence[Habits]
    """One habit for all days, or two: Monday to Friday, and the weekend."""
    shift_h: Float64
    """[devices]."""
    verdicts: Bools
    """[24, 2, 2]: whether a device may train, by the hour and whether it charges and is on Wi-Fi."""

    @classmethod
    def of(cls, week: Sequence[Habits], requirements: Requirements, shift_h: Float64) -> "Habitual":
        """Devices whose habits are shifted by `shift_h` hours."""
        verdicts = np.array(
            [
                [
                    [may_train(requirements, hour, charging=charging, wifi=wifi) for wifi in (False, True)]
                    for charging in (False, True)
                ]
                for hour in range(24)
            ]
        )
        return cls(week, shift_h, verdicts)

    def ready(self, time_s: float) -> Bools:
        return self._ready(int(time_s // QUARTER_S) % WEEK, self.shift_h)

    def days(self, devices: Int64) -> list[Day]:
        shifts = self.shift_h[devices]
        quarters = QUARTERS if len(self.week) == 1 else WEEK
        table = np.stack([self._ready(quarter, shifts) for quarter in range(quarters)], axis=1)
        return [Day(tuple(row)) for row in table.tolist()]

    def _ready(self, quarter: int, shifts: Float64) -> Bools:
        day, hour = quarter // QUARTERS, quarter % QUARTERS / 4
        habits = self.week[-1] if day >= WORKDAYS else self.week[0]
        verdicts = [tuple(map(bool, pair)) for pair in np.argwhere(self.verdicts[int(hour)])]
        ready = np.zeros(len(shifts), np.bool_)
        for begin in range(0, len(shifts), CACHED):
            some = slice(begin, begin + CACHED)
            charging, wifi = (_within(span, hour - shifts[some]) for span in (habits.charging, habits.wifi))
            for charges, is_on_wifi in verdicts:
                ready[some] |= (charging == charges) & (wifi == is_on_wifi)
        return ready


@dataclass(frozen=True, eq=False)
class Measured:
    """Devices that follow those of a trace: ready in the quarters of an hour in which those mostly were."""

    table: Bools
    """[devices of the trace, quarters of a day or a week]."""
    places: Int64
    """[devices]: the device of the trace that each follows."""

    def ready(self, time_s: float) -> Bools:
        ready: Bools = self.table[self.places, int(time_s // QUARTER_S) % self.table.shape[1]]
        return ready

    def days(self, devices: Int64) -> list[Day]:
        return [Day(tuple(row)) for row in self.table[self.places[devices]].tolist()]


def _within(span: tuple[float, float] | None, hours: Float64) -> Bools:
    if span is None:
        return np.ones(len(hours), np.bool_)
    (start, end), at = span, hours.copy()
    at[at < 0] += 24  # shifts are at most twelve hours: this equals the remainder, and is much faster
    at[at >= 24] -= 24
    return (start <= at) & (at < end) if start <= end else (at >= start) | (at < end)
