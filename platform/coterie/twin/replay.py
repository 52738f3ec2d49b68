"""Replays rounds with a fleet's history: an invited device repeats a part of its own or of the fleet.

With n parts of its own, a device repeats one of them with probability n/(n+2), else one of the fleet's. In a repeated
part, training time scales with the plan's steps and upload time with the bytes; the rest is unchanged. A part that was
late when its round closed is extended by the upper half of a lognormal distribution with the spread of the fleet's
parts. Without that, intervals were too narrow: coverage was 60 to 72 % instead of 80 %; with it, 80 to 84 %.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from coterie.twin.errors import NoHistory, NotReplayed
from coterie.twin.trace import Trace, TracedPart
from coterie_learning.client.order import steps_per_epoch
from coterie_learning.pace import View
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_learning.selection import DeviceFacts

LEAST_PARTS = 20
"""Least number of received updates for a forecast."""
SHRINK = 2
LEAST_S = 0.01
"""Least duration of a part in seconds, so that its logarithm is finite."""
LOOK_S = 60.0
"""Seconds between checks for ready devices."""
PUBLISH_S = 1.0
"""Least seconds between a round's end and the next one's opening."""
PREFIX = "device-"


class HeldRound(NamedTuple):
    """One replayed round."""

    opened_s: float
    lasted_s: float
    """From its opening to its closing."""
    asked: int
    delivered: int
    lost: int
    """Of the invited devices; parts unfinished when it closed are in neither."""
    is_merged: bool
    up_bytes: int


class _Coming(NamedTuple):
    at_s: float
    number: int
    is_lost: bool


def check_replayed(plan: Plan) -> None:
    """Raises NotReplayed."""
    if not plan.pace.holds_rounds():
        raise NotReplayed(reason="holds no rounds")
    if plan.pace.staleness_allowed() is not None:
        raise NotReplayed(reason="merges updates of different rounds")


@dataclass(frozen=True, eq=False)
class Past:
    """A fleet's parts in rounds, by device."""

    own: Sequence[Sequence[TracedPart]]
    every: Sequence[TracedPart]
    spread: float
    """Standard deviation of the log-duration of parts that delivered."""
    batch_size: int
    known: Sequence[DeviceFacts]
    """Input of the selection for each device."""

    @classmethod
    def of(cls, trace: Trace) -> "Past":
        """Raises NoHistory."""
        own: list[list[TracedPart]] = [[] for _ in range(trace.devices)]
        for part in trace.parts:
            own[part.device].append(part)
        lasted = [max(LEAST_S, part.lasted_s) for part in trace.parts if part.ending == "delivered"]
        if len(lasted) < LEAST_PARTS:
            raise NoHistory(parts=len(lasted), needed=LEAST_PARTS)
        spread, known = float(np.std(np.log(lasted))), [_known(place, parts) for place, parts in enumerate(own)]
        return cls(own, trace.parts, spread, trace.batch_size, known)

    def drawn(self, device: int, plan: Plan, update_bytes: int, rng: np.random.Generator) -> tuple[float, bool]:
        """Seconds until the part of `device` ends, and whether it is lost."""
        own = self.own[device]
        is_own = rng.random() < len(own) / (len(own) + SHRINK)
        parts = own if is_own else self.every
        part = parts[int(rng.integers(len(parts)))]
        if part.ending == "lost":
            return part.lasted_s, True
        if part.ending == "late":
            return part.lasted_s * float(np.exp(abs(rng.normal(0, self.spread)))), False
        steps = plan.local.steps_wanted(steps_per_epoch(max(1, part.samples), self.batch_size))
        train_s = part.train_s * steps / part.steps if part.steps else part.train_s
        upload_s = part.upload_s * update_bytes / part.sent_bytes if part.sent_bytes else part.upload_s
        return max(0.0, part.lasted_s - part.train_s - part.upload_s) + train_s + upload_s, False


def _known(place: int, own: Sequence[TracedPart]) -> DeviceFacts:
    """Input of the selection for a device."""
    last = next((part for part in reversed(own) if part.ending == "delivered"), None)
    name = f"{PREFIX}{place}"
    return DeviceFacts(name) if last is None else DeviceFacts(name, None, None, last.samples, last.train_s)


class Ready:
    """When devices were ready."""

    def __init__(self, trace: Trace) -> None:
        spans = sorted(trace.spans, key=lambda span: span.from_s)
        self._devices = np.array([span.device for span in spans], np.int64)
        self._from_s = np.array([span.from_s for span in spans])
        self._until_s = np.array([span.until_s for span in spans])

    def at(self, time_s: float) -> list[int]:
        """Ascending."""
        inside = (self._from_s <= time_s) & (time_s < self._until_s)
        return [int(one) for one in np.unique(self._devices[inside])]


class Always:
    """The same devices are always ready."""

    def __init__(self, devices: Sequence[int]) -> None:
        self._devices = sorted(devices)

    def at(self, time_s: float) -> list[int]:  # noqa: ARG002 - at any time
        """Ascending."""
        return self._devices


@dataclass(eq=False)
class Rounds:
    """Replays rounds one after the other."""

    plan: Plan
    past: Past
    ready: Ready | Always
    update_bytes: int
    """Upload of a device under the plan, in bytes."""
    seed: int

    def hold(self, number: int, *, at_s: float, rng: np.random.Generator) -> HeldRound:
        """A round that opens now, with the devices that are ready."""
        pace, now_s = self.plan.pace, at_s
        asked: set[int] = set()
        coming: list[_Coming] = []
        delivered = lost = 0
        deadline_s = at_s + pace.deadline_after_s()
        while True:
            decision = pace.decide(View(len(coming), delivered, now_s - at_s))
            if decision.ends:
                break
            look_s = inf
            if decision.devices > 0:
                for device in self._chosen(number, asked, now_s, decision.devices):
                    asked.add(device)
                    lasts_s, is_lost = self.past.drawn(device, self.plan, self.update_bytes, rng)
                    heapq.heappush(coming, _Coming(now_s + lasts_s, len(asked), is_lost))
                look_s = now_s + LOOK_S
            now_s = min(look_s, deadline_s, coming[0].at_s if coming else inf)
            while coming and coming[0].at_s <= now_s:
                is_lost = heapq.heappop(coming).is_lost
                delivered, lost = delivered + (not is_lost), lost + is_lost
        is_merged = pace.decide(View(len(coming), delivered, now_s - at_s)).act == "merge"
        return HeldRound(at_s, now_s - at_s, len(asked), delivered, lost, is_merged, delivered * self.update_bytes)

    def several(self, *, rounds: int, until_s: float) -> list[HeldRound]:
        """Rounds from the beginning of the trace."""
        rng = np.random.default_rng(derive_seed(self.seed, "replay"))
        found: list[HeldRound] = []
        now_s, pace = 0.0, self.plan.pace
        while len(found) < rounds and now_s < until_s:
            if len(self.ready.at(now_s)) < max(1, pace.devices_needed()):
                now_s += LOOK_S
                continue
            found.append(self.hold(len(found) + 1, at_s=now_s, rng=rng))
            now_s += found[-1].lasted_s + max(pace.pause_after_s(), PUBLISH_S)
        return found

    def _chosen(self, number: int, asked: set[int], now_s: float, count: int) -> list[int]:
        if count <= 0:
            return []
        free = [self.past.known[device] for device in self.ready.at(now_s) if device not in asked]
        seed = derive_seed(self.seed, "round", number, len(asked))
        names = self.plan.selection.choose(free, count=count, round_number=number, seed=seed)
        return [int(name.removeprefix(PREFIX)) for name in names]


class Interval(NamedTuple):
    """Median, first and ninth decile."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Interval":
        """The interval of some draws."""
        low, middle, high = np.quantile(values, (0.1, 0.5, 0.9))
        return cls(float(low), float(middle), float(high))


class Expected(NamedTuple):
    """The 80 % intervals of a round's figures."""

    duration_s: Interval
    lost: Interval
    """Invited devices that gave up, dropped out or sent a wrong update."""
    up_bytes: Interval


DRAWS = 200


def forecast(plan: Plan, past: Past, ready: Sequence[int], update_bytes: int, *, number: int, seed: int) -> Expected:
    """A round that opens now with the devices `ready`; the same arguments give the same forecast."""
    held = []
    for draw in range(DRAWS):
        rounds = Rounds(plan, past, Always(ready), update_bytes, derive_seed(seed, "forecast", draw))
        held.append(rounds.hold(number, at_s=0.0, rng=np.random.default_rng(derive_seed(seed, "draw", draw))))
    return Expected(
        Interval.of([one.lasted_s for one in held]),
        Interval.of([one.lost for one in held]),
        Interval.of([one.up_bytes for one in held]),
    )
