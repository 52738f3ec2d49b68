"""When a virtual device may train: its conditions by the hour, judged like an agent's."""

import math
from typing import NamedTuple

from coterie.simulation.clock import DAY_S
from coterie.simulation.scenario import Habits
from coterie_agent.policy import judge
from coterie_wire.conditions import Conditions, Requirements

QUARTERS = 96
"""Quarters of an hour: conditions are checked four times an hour."""
QUARTER_S = DAY_S / QUARTERS


class Day(NamedTuple):
    """One device's daily or weekly schedule."""

    ready: tuple[bool, ...]
    """Whether it may train, for each quarter of an hour of a day or a week."""

    @property
    def ever(self) -> bool:
        """Whether it may ever train."""
        return any(self.ready)

    def is_ready(self, time_s: float) -> bool:
        """Whether it may train at `time_s`."""
        return self.ready[int(time_s // QUARTER_S) % len(self.ready)]

    def done_at(self, start_s: float, work_s: float) -> float:
        """When `work_s` seconds of work are done that start at `start_s` and pause when conditions are lost."""
        if all(self.ready):
            return start_s + work_s
        if not self.ever:
            return math.inf
        times = work_s // (QUARTER_S * sum(self.ready))
        left_s = work_s - times * QUARTER_S * sum(self.ready)
        now_s = start_s + times * QUARTER_S * len(self.ready)
        while left_s > 0:
            ends_s = (now_s // QUARTER_S + 1) * QUARTER_S
            if self.is_ready(now_s):
                if now_s + left_s <= ends_s:
                    return now_s + left_s
                left_s -= ends_s - now_s
            now_s = ends_s
        return now_s

    def steps_before(self, latest_s: float, *, starts_s: float, step_s: float, wanted: int) -> int:
        """How many of `wanted` steps of `step_s` seconds each are done by `latest_s`."""
        if self.done_at(starts_s, wanted * step_s) <= latest_s:
            return wanted
        low, high = 0, wanted - 1
        while low < high:
            middle = (low + high + 1) // 2
            fits = self.done_at(starts_s, middle * step_s) <= latest_s
            low, high = (middle, high) if fits else (low, middle - 1)
        return low


def day_of(habits: Habits, requirements: Requirements, *, shift_h: float) -> Day:
    """The day of a device whose habits are shifted by `shift_h` hours."""
    return Day(tuple(_ready(habits, requirements, quarter / 4, shift_h) for quarter in range(QUARTERS)))


def _ready(habits: Habits, requirements: Requirements, hour: float, shift_h: float) -> bool:
    charging, wifi = (_within(span, hour - shift_h) for span in (habits.charging, habits.wifi))
    return may_train(requirements, int(hour), charging=charging, wifi=wifi)


def may_train(requirements: Requirements, hour: int, *, charging: bool, wifi: bool) -> bool:
    """Whether a device with these conditions may train at the `hour` of the day."""
    conditions = Conditions(
        charging="yes" if charging else "no",
        network="wifi" if wifi else "metered",
        idle="yes",
        temperature_c=30.0,
    )
    return not judge(requirements, NO_OWNER, conditions, hour)


NO_OWNER = Requirements(charging=False, unmetered=False)
"""Virtual owners set no policy of their own."""


def _within(hours: tuple[float, float] | None, hour: float) -> bool:
    if hours is None:
        return True
    start, end = hours
    at = hour % 24
    return start <= at < end if start <= end else at >= start or at < end
