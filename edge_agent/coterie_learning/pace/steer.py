"""Pace steering: when devices check in, so that rounds find enough of them and the platform can serve them all.

Source: K. Bonawitz et al., *Towards Federated Learning at Scale: System Design*, 2019, arXiv 1902.01046, §2.3: the
platform suggests to each device when to reconnect. Devices of a small population check in at the same time, so that
enough are present; those of a large one are spread, so that no more than needed are present.  Of N devices that check
in once every T seconds each, a share a of them eligible, N·a·w/T eligible ones check in within w seconds. So a round
that needs K within w seconds requires

    T ≤ N·a·w/K,

and a platform that serves R check-ins a second requires

    T ≥ N/R.

Where both can hold, T is the least that R allows, since lost devices are noticed by missing check-ins. Where they
cannot, the load limit has priority, and selecting devices takes longer. Populations whose rounds need more than the
common interval provides share at most `FOR_GOALS` of the load, the least demand first: one with an unreachable goal
takes nothing from those that need little. Where N·a < `FEW`·K, devices that cannot be woken meet: all get the same
instant, one of a series that is a period apart, and check in within `MEETING_S` around it.
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
"""With fewer eligible devices for each device needed, a round would mostly wait."""
MEETING_S = 20.0
"""Devices that meet check in within so many seconds: ± 10 s."""
FOR_GOALS = 0.5
"""Share of the load that is reserved for populations with a goal."""
HALVED_IN = 60
"""Observations of an hour after which earlier ones count half."""


class Shares(NamedTuple):
    """The share of a population that is eligible, by hour of the week; None: not observed yet."""

    by_hour: tuple[float | None, ...] = (None,) * HOURS

    def noted(self, share: float, *, at_s: float) -> "Shares":
        """With one more observation; older ones decay exponentially."""
        hour, kept = hour_of_week(at_s), 0.5 ** (1 / HALVED_IN)
        before = self.by_hour[hour]
        after = share if before is None else kept * before + (1 - kept) * share
        return Shares((*self.by_hour[:hour], after, *self.by_hour[hour + 1 :]))

    def at(self, at_s: float) -> float:
        """The share in the hour of `at_s` (Unix time); if not observed, the mean of the observed hours, or 0."""
        share = self.by_hour[hour_of_week(at_s)]
        if share is not None:
            return share
        known = [one for one in self.by_hour if one is not None]
        return math.fsum(known) / len(known) if known else 0.0


class Population(NamedTuple):
    """Devices that take part in the same rounds."""

    devices: int
    eligible: float
    """The share of them that is eligible at a check-in."""
    goal: int
    """Devices that a round needs; 0: there are no rounds."""
    selection_s: float
    """Seconds within which these should have checked in."""

    def is_few(self) -> bool:
        """Whether so few are eligible that they should meet."""
        return 0 < self.devices * self.eligible < FEW * self.goal

    def longest_s(self) -> float:
        """The longest interval at which rounds find their devices in time, ignoring the load; inf: any."""
        if not self.goal or not self.eligible:
            return math.inf
        if self.is_few():
            return _period_within(self.selection_s)
        return max(SHORTEST_S, self.devices * self.eligible * self.selection_s / self.goal)


class Pacing(NamedTuple):
    """When the devices of a population check in."""

    interval_s: float
    """Mean seconds from one check-in of a device to its next."""
    meets: bool
    """Whether devices that cannot be woken check in at the same time."""


def steer(populations: Sequence[Population], *, devices: int, load: float) -> tuple[Sequence[Pacing], float]:
    """The pacing of each population in a fleet of so many `devices`, and the interval of the devices in none.

    Together they check in at most `load` times a second, and each population at least as often as devices in none.
    """
    common_s = max(SHORTEST_S, devices / load)
    served = {index: one for index, one in enumerate(populations) if one.longest_s() < common_s}
    rates: dict[int, float] = {}
    while served:
        wanted = [one.devices / one.longest_s() for one in served.values()]
        rates = dict(zip(served, divide(wanted, FOR_GOALS * load), strict=True))
        # A device in several populations counts in each.
        unserved = sum(one.devices for index, one in enumerate(populations) if index not in served)
        others = max(unserved, devices - sum(one.devices for one in served.values()))
        common_s = max(SHORTEST_S, others / (load - math.fsum(rates.values())))
        least = min(served, key=lambda index: rates[index] / served[index].devices)
        if rates[least] * common_s >= served[least].devices:
            break
        # The load left for its goal would make it check in more rarely than the others.
        del served[least], rates[least]
        common_s = max(SHORTEST_S, devices / load)
    paces = [
        Pacing(max(SHORTEST_S, one.devices / rates[index]) if index in rates else common_s, one.is_few())
        for index, one in enumerate(populations)
    ]
    return paces, common_s


def divide(wanted: Sequence[float], amount: float) -> Sequence[float]:
    """Max-min fair shares of `amount`: the smallest demands are met in full, the others get equal shares."""
    granted = [0.0] * len(wanted)
    left = amount
    for done, index in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        granted[index] = min(wanted[index], left / (len(wanted) - done))
        left = max(0.0, left - granted[index])
    return granted


def spread_window(interval_s: float) -> CheckInWindow:
    """The window from half of the interval to one and a half."""
    return CheckInWindow(after_s=interval_s / 2, within_s=interval_s)


def meeting_window(interval_s: float, *, devices: int, load: float, phase: int, now_s: float) -> CheckInWindow:
    """The window of the next meeting of so many `devices`; spread where a meeting would exceed the `load`.

    `phase` is a number of the population, so that populations do not meet at the same instants.
    """
    period_s = _period_of(interval_s)
    within_s = max(MEETING_S, devices / load)
    if 2 * within_s > period_s:
        return spread_window(period_s)
    # A device that is early for a meeting is not given the same one again.
    next_s = period_s * (math.floor((now_s + within_s - phase % period_s) / period_s) + 1) + phase % period_s
    return CheckInWindow(after_s=next_s - now_s - within_s / 2, within_s=within_s)


def hour_of_week(at_s: float) -> int:
    """The hour of Unix time `at_s`, which began on a Thursday."""
    return (int(at_s // 3600) + 3 * 24) % HOURS


def _period_of(interval_s: float) -> float:
    """The shortest period that is no shorter than the interval."""
    return SHORTEST_S * 2.0 ** max(0, math.ceil(round(math.log2(interval_s / SHORTEST_S), 6)))


def _period_within(selection_s: float) -> float:
    """The longest period that is no longer than `selection_s`."""
    return SHORTEST_S * 2.0 ** max(0, math.floor(math.log2(max(SHORTEST_S, selection_s) / SHORTEST_S)))
