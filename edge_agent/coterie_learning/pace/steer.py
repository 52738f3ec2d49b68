"""Pace steering: when devices come back, so that rounds find enough of them and the platform can answer them all.

Source: K. Bonawitz et al., *Towards Federated Learning at Scale: System Design*, 2019, arXiv 1902.01046, §2.3: the
platform suggests to each device when to come back; a small population is made to come together, so that enough are
there at a time, and a large one to spread, so that none are there beyond need.

Of N devices that come once in T seconds each, a share a of them eligible, N·a·w/T eligible ones come in w seconds. So a
round that wants K within w seconds asks for

    T ≤ N·a·w/K,

and a platform that answers R check-ins a second for

    T ≥ N/R.

Where both can hold, T is the least that R pays for: silence is noticed by check-ins that do not come. Where they
cannot, load wins, and the choice of devices takes longer. Populations whose rounds want more than the common interval
gives share at most `FOR_GOALS` of the load, the least demand first: one whose goal is out of reach takes nothing from
those that need little. Where N·a < `FEW`·K, devices that nobody can wake meet: all are told the same instant, of
those that are a period apart, and come within `MEETING_S` around it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from coterie_wire.messages import CheckInWindow

HOURS = 168
"""Of a week, from Monday's first on, in UTC."""
SHORTEST_S = 15.0
"""No device is told to come more often, and periods are this, doubled any number of times: so the instants of one are
instants of all that are shorter."""
FEW = 3.0
"""A round of a population with fewer eligible devices for each that it wants would mostly wait."""
MEETING_S = 20.0
"""Devices that meet come within so many seconds: ± 10 s."""
FOR_GOALS = 0.5
"""Share of the load."""
HALVED_IN = 60
"""Observations of an hour after which what was known of it before counts half."""


class Shares(NamedTuple):
    """The share of a population that is eligible, by hour of the week; None: not observed yet."""

    by_hour: tuple[float | None, ...] = (None,) * HOURS

    def noted(self, share: float, *, at_s: float) -> "Shares":
        """With one more observation; older ones are forgotten, each at the same rate."""
        hour, kept = hour_of_week(at_s), 0.5 ** (1 / HALVED_IN)
        before = self.by_hour[hour]
        after = share if before is None else kept * before + (1 - kept) * share
        return Shares((*self.by_hour[:hour], after, *self.by_hour[hour + 1 :]))

    def at(self, at_s: float) -> float:
        """In the hour of `at_s` (Unix time); where it was not observed, the mean of those that were; 0 without any."""
        share = self.by_hour[hour_of_week(at_s)]
        if share is not None:
            return share
        known = [one for one in self.by_hour if one is not None]
        return math.fsum(known) / len(known) if known else 0.0


class Population(NamedTuple):
    """Devices that take part in the same rounds."""

    devices: int
    eligible: float
    """The share of them that could take part when they come."""
    goal: int
    """Devices that a round wants; 0: there are no rounds."""
    selection_s: float
    """Seconds in which they should have come."""

    def is_few(self) -> bool:
        """Whether so few are eligible for a round that they had better meet."""
        return 0 < self.devices * self.eligible < FEW * self.goal

    def longest_s(self) -> float:
        """The longest interval at which rounds find their devices in time, whatever the load; inf: any does."""
        if not self.goal or not self.eligible:
            return math.inf
        if self.is_few():
            return _period_within(self.selection_s)
        return max(SHORTEST_S, self.devices * self.eligible * self.selection_s / self.goal)


class Pacing(NamedTuple):
    """How the devices of a population come back."""

    interval_s: float
    """From one check-in of a device to its next, on average."""
    meets: bool
    """Whether those come together that nobody can wake."""


def steer(populations: Sequence[Population], *, devices: int, load: float) -> tuple[Sequence[Pacing], float]:
    """How each population comes back in a fleet of so many `devices`, and the interval of the devices in none.

    Together they check in at most `load` times a second, but each at least as often as the interval of the others is.
    """
    common_s = max(SHORTEST_S, devices / load)
    served = {index: one for index, one in enumerate(populations) if one.longest_s() < common_s}
    rates: dict[int, float] = {}
    while served:
        wanted = [one.devices / one.longest_s() for one in served.values()]
        rates = dict(zip(served, divide(wanted, FOR_GOALS * load), strict=True))
        # Where populations share devices, these count as often.
        unserved = sum(one.devices for index, one in enumerate(populations) if index not in served)
        others = max(unserved, devices - sum(one.devices for one in served.values()))
        common_s = max(SHORTEST_S, others / (load - math.fsum(rates.values())))
        least = min(served, key=lambda index: rates[index] / served[index].devices)
        if rates[least] * common_s >= served[least].devices:
            break
        # What is left of the load for its goal would have it come more seldom than the others do.
        del served[least], rates[least]
        common_s = max(SHORTEST_S, devices / load)
    paces = [
        Pacing(max(SHORTEST_S, one.devices / rates[index]) if index in rates else common_s, one.is_few())
        for index, one in enumerate(populations)
    ]
    return paces, common_s


def divide(wanted: Sequence[float], amount: float) -> Sequence[float]:
    """Shares of `amount`, none more than what is wanted: those that want least get it all, the others equally much."""
    granted = [0.0] * len(wanted)
    left = amount
    for done, index in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        granted[index] = min(wanted[index], left / (len(wanted) - done))
        left = max(0.0, left - granted[index])
    return granted


def spread(interval_s: float) -> CheckInWindow:
    """Any moment from half of the interval to one and a half."""
    return CheckInWindow(after_s=interval_s / 2, within_s=interval_s)


def meet(interval_s: float, *, devices: int, load: float, phase: int, now_s: float) -> CheckInWindow:
    """The next instant at which all of so many `devices` come; spread, where their load forbids to come together.

    `phase` is the population's own number, so that populations do not meet at the same instants.
    """
    period_s = _period_of(interval_s)
    within_s = max(MEETING_S, devices / load)
    if 2 * within_s > period_s:
        return spread(period_s)
    # A device that comes to a meeting early is not told the same one again.
    next_s = period_s * (math.floor((now_s + within_s - phase % period_s) / period_s) + 1) + phase % period_s
    return CheckInWindow(after_s=next_s - now_s - within_s / 2, within_s=within_s)


def hour_of_week(at_s: float) -> int:
    """The hour of Unix time `at_s`, which began on a Thursday."""
    return (int(at_s // 3600) + 3 * 24) % HOURS


def _period_of(interval_s: float) -> float:
    """The shortest period that is no shorter than the interval."""
    return SHORTEST_S * 2.0 ** max(0, math.ceil(round(math.log2(interval_s / SHORTEST_S), 6)))


def _period_within(selection_s: float) -> float:
    """The longest period that is no longer than the seconds in which devices should have come."""
    return SHORTEST_S * 2.0 ** max(0, math.floor(math.log2(max(SHORTEST_S, selection_s) / SHORTEST_S)))
