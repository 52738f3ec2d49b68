"""When the devices of a fleet may train: as `coterie.simulation.days` has it of one, for all at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.simulation.days import QUARTER_S, QUARTERS, Day, may_train
from coterie.simulation.fleet.splits import Float64, Int64
from coterie.simulation.scenario import Habits
from coterie_wire.conditions import Requirements

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Availability:
    """The days of all devices, which differ by a shift of their habits."""

    habits: Habits
    shift_h: Float64
    """[devices]."""
    verdicts: Bools
    """[24, 2, 2]: whether a device may train, by the hour and whether it charges and is on Wi-Fi."""

    @classmethod
    def of(cls, habits: Habits, requirements: Requirements, shift_h: Float64) -> "Availability":
        """Of devices whose habits are shifted by `shift_h` hours."""
        verdicts = np.array(
            [
                [
                    [may_train(requirements, hour, charging=charging, wifi=wifi) for wifi in (False, True)]
                    for charging in (False, True)
                ]
                for hour in range(24)
            ]
        )
        return cls(habits, shift_h, verdicts)

    def ready(self, time_s: float) -> Bools:
        """[devices]: which may train at `time_s`."""
        return self._ready(int(time_s // QUARTER_S) % QUARTERS / 4, self.shift_h)

    def days(self, devices: Int64) -> list[Day]:
        """Of each of `devices`."""
        shifts = self.shift_h[devices]
        table = np.stack([self._ready(quarter / 4, shifts) for quarter in range(QUARTERS)], axis=1)
        return [Day(tuple(row)) for row in table.tolist()]

    def _ready(self, hour: float, shifts: Float64) -> Bools:
        charging, wifi = (_within(span, hour - shifts) for span in (self.habits.charging, self.habits.wifi))
        ready: Bools = self.verdicts[int(hour), charging.astype(np.intp), wifi.astype(np.intp)]
        return ready


def _within(span: tuple[float, float] | None, hours: Float64) -> Bools:
    if span is None:
        return np.ones(len(hours), np.bool_)
    (start, end), at = span, hours % 24
    return (start <= at) & (at < end) if start <= end else (at >= start) | (at < end)
