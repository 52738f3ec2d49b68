"""Random trees and failure schedules on the rules of `coterie_learning.sum_tree`: rows in memory, simulated time.

Devices that send updates, supernodes and links fail at random moments, and some come back. What the platform is sent is
real sums of integers.
"""

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.sum_tree import (
    Offering,
    RequestedSum,
    Wanted,
    are_all_in,
    faults,
    grown,
    required_sums,
    valid_requests,
)

Sums = NDArray[np.int64]
PATIENCE_S = 10.0
ABSENT_S = 4.0
"""After which a device that says nothing is known to be away."""
TRIES = 3
MOST_STEPS = 400


class Share(NamedTuple):
    device: str
    weight: int


@dataclass
class Row:
    """What a supernode was asked for."""

    number: int
    wanted: Wanted[Share]
    parent: str | None
    since_s: float
    state: Literal["asked", "held", "accepted"] = "asked"
    held_s: float = 0.0
    total: Sums | None = None

    def seen(self) -> RequestedSum[Share]:
        return RequestedSum(self.wanted, self.parent, self.state, self.since_s, self.held_s)


class Outcome(NamedTuple):
    """How a schedule ended."""

    total: Sums
    counted: Mapping[str, int]
    """By device, how often its update is in the total."""
    expected: Sums
    """The flat sum of the same updates."""
    reachable: frozenset[str]
    """Devices that were there to the end."""
    tops: int
    """Sums that came to the platform."""
    updates: int
    """That came to it by themselves."""
    depth: int
    """Supernodes on the longest way that was asked for."""


@dataclass
class Schedule:
    """One round, from the moment in which all updates are handed in."""

    seed: int
    failing: float = 0.5
    """The probability that a supernode fails."""
    now_s: float = 0.0
    rows: dict[str, Row] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    route: dict[str, str | None] = field(default_factory=dict)
    """By device; None: it sends to the platform."""
    changed_s: dict[str, float] = field(default_factory=dict)
    direct: set[str] = field(default_factory=set)
    shelves: dict[str, dict[int, Sums]] = field(default_factory=dict)
    tries: dict[tuple[str, int], int] = field(default_factory=dict)
    numbers: int = 0
    had_tree: bool = False
    deepest: int = 0

    def __post_init__(self) -> None:
        rng = self.rng = random.Random(self.seed)
        self.tiers = [f"tier{tier}:" for tier in range(rng.randint(1, 3))]
        leaves = [f"s{number}" for number in range(rng.randint(2, 12))]
        gateways = [f"g{number}" for number in range(rng.randint(0, 4))]
        self.tags = {
            name: [
                f"{prefix}{rng.randint(0, 3 - place)}" for place, prefix in enumerate(self.tiers) if rng.random() < 0.9
            ]
            for name in (*leaves, *gateways)
        }
        self.offering = [
            Offering(name, rng.randint(0, 6), rng.random()) for name in (*leaves, *gateways) if rng.random() < 0.9
        ]
        for leaf in leaves:
            for number in range(rng.randint(1, 4)):
                self.route[f"{leaf}.{number}"] = leaf
        self.supernodes = [*leaves, *gateways]
        self.samples = {device: rng.randint(1, 200) for device in self.route}
        generator = np.random.default_rng(self.seed)
        self.updates = {device: generator.integers(-(2**40), 2**40, 4) for device in self.route}
        self.changed_s = dict.fromkeys(self.route, -1000.0)
        self.away = {
            name: (start := rng.uniform(-5, 8), start + rng.choice((5.0, 20.0, 1e9)))
            for name in self.supernodes
            if rng.random() < self.failing
        }
        self.lost = {device: rng.uniform(0, 15) for device in self.route if rng.random() < 0.3}
        """Devices that are gone from a moment on; what they have handed in is not."""
        self.down = {(rng.choice(self.supernodes), rng.choice(self.supernodes)) for _ in range(rng.randint(0, 3))}
        """Pairs that do not reach each other."""

    def run(self) -> Outcome:
        for _ in range(MOST_STEPS):
            self.now_s += 1.0
            for name in self.rng.sample(self.supernodes, len(self.supernodes)):
                if self._is_alive(name) and self.rng.random() < 0.7:
                    self._sum(name)
            for device in self.route:
                if self.route[device] is None and device not in self.direct and self._answers(device):
                    self._send(device)
            if self._gather():
                return self._outcome()
        raise AssertionError(f"schedule {self.seed} does not end")

    def _is_alive(self, name: str) -> bool:
        start, end = self.away.get(name, (1e9, 1e9))
        return not start <= self.now_s < end

    def _is_present(self, name: str) -> bool:
        """As far as the platform knows."""
        start, end = self.away.get(name, (1e9, 1e9))
        return not start + ABSENT_S <= self.now_s < end

    def _answers(self, device: str) -> bool:
        return self.now_s < self.lost.get(device, 1e9) and self.rng.random() < 0.7

    def _send(self, device: str) -> None:
        if self.changed_s[device] + PATIENCE_S >= self.now_s:
            self.direct.add(device)

    def _sum(self, name: str) -> None:
        """What a supernode does that was asked for a sum."""
        row = self.rows.get(name)
        if row is None or row.state != "asked":
            return
        shelf = self.shelves.setdefault(name, {})
        parts = [self.rows[part] for part in sorted(row.wanted.parts)]
        if any(part.number not in shelf for part in parts):
            return
        total = np.zeros(4, np.int64)
        for share in row.wanted.shares:
            total += share.weight * self.updates[share.device]
        for part in parts:
            total += shelf[part.number]
        tried = self.tries.get((name, row.number), 0)
        if row.parent is not None and tried < TRIES:
            if not self._is_alive(row.parent) or (name, row.parent) in self.down:
                self.tries[name, row.number] = tried + 1
                return
            self.shelves.setdefault(row.parent, {})[row.number] = total
            row.state, row.held_s = "held", self.now_s
            return
        if row.parent is not None:
            self._cut(name)
        row.state, row.total = "accepted", total

    def _void(self, name: str | None) -> None:
        """A sum, and those that it would have gone into."""
        while name is not None and name in self.rows:
            name = self.rows.pop(name).parent

    def _cut(self, name: str) -> None:
        row = self.rows[name]
        self._void(row.parent)
        self.parents[name], row.parent, row.state, row.since_s = None, None, "asked", self.now_s

    def _give_up(self, name: str) -> None:
        for part in self.rows[name].wanted.parts:
            if part in self.rows and self.rows[part].parent == name:
                self._cut(part)
        self._void(name)
        for device, supernode in self.route.items():
            if supernode == name:
                self.route[device], self.changed_s[device] = None, self.now_s

    def _gather(self) -> bool:
        """What the platform does in a sweep; whether the round is whole."""
        for fault in list(
            faults(
                {name: row.seen() for name, row in self.rows.items()},
                gone=[name for name in self.rows if not self._is_present(name)],
                now_s=self.now_s,
                patience_s=PATIENCE_S,
            )
        ):
            if fault.supernode not in self.rows:
                continue
            if fault.act == "give_up":
                self._give_up(fault.supernode)
            elif self.rows[fault.supernode].parent is not None:
                self._cut(fault.supernode)
        resending = [device for device, way in self.route.items() if way is None and device not in self.direct]
        if any(self.changed_s[device] + PATIENCE_S >= self.now_s for device in resending):
            return False
        shares = self._shares()
        if not shares:
            return True
        if not self.had_tree:
            self.had_tree = True
            present = [one for one in self.offering if self._is_present(one.name)]
            branches = grown(shares, present, self.tags, self.tiers)
            self.parents = {name: branch.parent for name, branch in branches.items()}
        wanted = required_sums(shares, self.parents)
        good = valid_requests(wanted, {name: row.seen() for name, row in self.rows.items()})
        self.rows = {name: row for name, row in self.rows.items() if name in good}
        for name in wanted.keys() - good:
            self.numbers += 1
            self.rows[name] = Row(self.numbers, wanted[name], self.parents.get(name), self.now_s)
        self.deepest = max([self.deepest, *map(self._depth, self.rows)])
        return are_all_in(wanted, {name: row.seen() for name, row in self.rows.items()})

    def _counting(self) -> Sequence[str]:
        return [device for device, way in self.route.items() if way is not None or device in self.direct]

    def _weights(self) -> Mapping[str, int]:
        """Capped by the median, so that they change with whoever counts."""
        devices = self._counting()
        cap = int(statistics.median(self.samples[device] for device in devices)) if devices else 0
        return {device: min(self.samples[device], cap) for device in devices}

    def _shares(self) -> Mapping[str, Sequence[Share]]:
        weights, found = self._weights(), dict[str, list[Share]]()
        for device, way in self.route.items():
            if way is not None:
                found.setdefault(way, []).append(Share(device, weights[device]))
        return found

    def _outcome(self) -> Outcome:
        weights = self._weights()
        counted: dict[str, int] = dict.fromkeys(self.direct, 1)
        total = np.zeros(4, np.int64)
        for device in self.direct:
            total += weights[device] * self.updates[device]
        tops = [name for name, row in self.rows.items() if row.parent is None]
        for name in tops:
            row = self.rows[name]
            assert row.total is not None
            total += row.total
            for share in self._below(name):
                counted[share.device] = counted.get(share.device, 0) + 1
        expected = np.zeros(4, np.int64)
        for device, weight in weights.items():
            expected += weight * self.updates[device]
        reachable = frozenset(device for device in self.route if device not in self.lost)
        return Outcome(total, counted, expected, reachable, len(tops), len(self.direct), self.deepest)

    def _below(self, name: str) -> Sequence[Share]:
        row = self.rows[name]
        return [*row.wanted.shares, *(share for part in row.wanted.parts for share in self._below(part))]

    def _depth(self, name: str) -> int:
        return 1 + max((self._depth(part) for part in self.rows[name].wanted.parts), default=0)
