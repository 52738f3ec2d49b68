"""Who takes part in a round and when their updates come: events of a simulated clock, before anything is computed.

When an update comes depends on steps and bytes, not on numbers, so that only the updates that count need be computed.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from coterie.simulation.days import Day
from coterie.simulation.fleet.columns import NEVER, Columns, Traits
from coterie.simulation.fleet.splits import Int64
from coterie.simulation.ledger import Ledger
from coterie.simulation.rounds import LOOK_S
from coterie.simulation.scenario import Speed
from coterie_learning.client.order import steps_per_epoch
from coterie_learning.pace import View
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_learning.selection import Known


class Bytes(NamedTuple):
    """What travels."""

    graphs: int
    version: int
    """The parameters, and what the merge sends with them."""
    next_version: int
    """The same for a device that holds the version before."""
    update: int
    """As large as it usually is."""


class Delivery(NamedTuple):
    """An update that was in when its round closed."""

    device: int
    steps: int


class Closed(NamedTuple):
    """A round that has ended."""

    opened_s: float
    ended_s: float
    invited: int
    lost: int
    """Devices that fell silent."""
    deliveries: Sequence[Delivery]
    is_merged: bool


@dataclass(eq=False)
class _Open:
    number: int
    opened_s: float
    version: int
    asked: set[int] = field(default_factory=set)
    coming: list[tuple[float, int, int]] = field(default_factory=list)
    """Time, device and steps of each update that is on its way, as a heap; 0 steps: its device is missed then."""
    lost: int = 0
    deliveries: list[Delivery] = field(default_factory=list)


@dataclass(eq=False)
class Cohorts:
    """Opens and closes rounds as the plan's pace says."""

    plan: Plan
    speed: Speed
    traits: Traits
    columns: Columns
    train_sizes: Int64
    """Samples that each device trains on."""
    batch_size: int
    seed: int
    ledger: Ledger

    def hold(self, number: int, *, begins_s: float, ends_s: float, version: int, sizes: Bytes) -> Closed | None:
        """Round `number`, from when enough devices are ready at or after `begins_s`; None: not before `ends_s`."""
        now_s = begins_s
        while self._eligible(now_s, set()).sum() < max(1, self.plan.pace.devices_needed()):
            now_s += LOOK_S
            if now_s >= ends_s:
                return None
        round_ = _Open(number, now_s, version)
        deadline_s = now_s + self.plan.pace.deadline_after_s()
        self._ask(round_, now_s, sizes)
        look_s = now_s + LOOK_S
        while not self.plan.pace.decide(self._view(round_, now_s)).ends:
            comes_s = round_.coming[0][0] if round_.coming else np.inf
            now_s = float(min(comes_s, deadline_s, look_s))
            if now_s == comes_s:
                _, device, steps = heapq.heappop(round_.coming)
                if steps:
                    round_.deliveries.append(Delivery(device, steps))
                else:
                    round_.lost += 1
                    self._ask(round_, now_s, sizes)
            elif now_s == look_s:
                look_s += LOOK_S
                self._ask(round_, now_s, sizes)
        is_merged = self.plan.pace.decide(self._view(round_, now_s)).act == "merge"
        return Closed(round_.opened_s, now_s, len(round_.asked), round_.lost, round_.deliveries, is_merged)

    def _view(self, round_: _Open, now_s: float) -> View:
        return View(len(round_.coming), len(round_.deliveries), now_s - round_.opened_s)

    def _eligible(self, now_s: float, asked: set[int]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which devices could be asked."""
        eligible = self.traits.availability.ready(now_s) & (self.columns.busy_until_s <= now_s) & (self.train_sizes > 0)
        if asked:
            eligible[list(asked)] = False
        return eligible

    def _ask(self, round_: _Open, now_s: float, sizes: Bytes) -> None:
        wanted = max(0, self.plan.pace.decide(self._view(round_, now_s)).devices)
        if not wanted:
            return
        seed = derive_seed(self.seed, "round", round_.number)
        found = np.flatnonzero(self._eligible(now_s, round_.asked))
        if not self.plan.selection.reads_history and len(found) > CANDIDATES * wanted:
            # A uniform choice of some is one of all, without a hash for each device of the fleet.
            rng = np.random.default_rng([seed, round_.number, len(round_.asked)])
            found = np.sort(rng.choice(found, CANDIDATES * wanted, replace=False))
        names = self.plan.selection.choose(
            self._known(found.tolist(), round_.number),
            count=wanted,
            round_number=round_.number,
            seed=seed,
        )
        chosen = np.array([int(name.removeprefix(PREFIX)) for name in names], np.int64)
        self.columns.asked_in[chosen] = round_.number
        for device, day in zip(
            chosen.tolist(), self.traits.availability.days(chosen) if len(chosen) else (), strict=True
        ):
            round_.asked.add(device)
            self._book(round_, device, day, now_s, sizes)

    def _known(self, devices: Sequence[int], number: int) -> Sequence[Known]:
        if not self.plan.selection.reads_history:
            return [Known(f"{PREFIX}{device}") for device in devices]
        columns = self.columns
        return [
            Known(
                f"{PREFIX}{device}",
                number - int(columns.asked_in[device]) if columns.asked_in[device] else None,
                None if np.isnan(columns.loss[device]) else float(columns.loss[device]),
                int(self.train_sizes[device]) if columns.counted[device] else 0,
                None if np.isnan(columns.trained_s[device]) else float(columns.trained_s[device]),
            )
            for device in devices
        ]

    def _book(self, round_: _Open, device: int, day: Day, now_s: float, sizes: Bytes) -> None:
        """Download, training and upload, each while conditions hold; a device that would be late sends what it has."""
        columns, speed = self.columns, self.speed
        held, download = int(columns.held[device]), 0
        if held == NEVER:
            self.ledger.count("graphs", sizes.graphs)
            download += sizes.graphs
        if held != round_.version:
            version = sizes.version if held < round_.version - 1 else sizes.next_version
            self.ledger.count("versions", version)
            download += version
        columns.held[device] = round_.version
        starts_s = day.done_at(now_s, self._waits_s(device) + download / float(self.traits.downlink_bytes_s[device]))
        epoch = steps_per_epoch(int(self.train_sizes[device]), self.batch_size)
        step_s = speed.sample_s * float(self.traits.slowness[device]) * int(self.train_sizes[device]) / epoch
        latest_s = round_.opened_s + self.plan.pace.deadline_after_s() - speed.latency_s
        wanted = self.plan.local.steps_wanted(epoch)
        steps = day.steps_before(latest_s, starts_s=starts_s, step_s=step_s, wanted=wanted)
        if not steps:
            return
        if self._is_lost(round_.number, device):
            silent_s = starts_s + self.plan.pace.absence_after_s()
            columns.busy_until_s[device] = silent_s
            heapq.heappush(round_.coming, (silent_s, device, 0))
            return
        done_s = day.done_at(starts_s, step_s * steps)
        arrives_s = day.done_at(done_s, speed.latency_s + sizes.update / float(self.traits.uplink_bytes_s[device]))
        columns.busy_until_s[device], columns.trained_s[device] = arrives_s, step_s * steps
        self.ledger.count("updates", sizes.update)
        self.ledger.train(step_s * steps)
        heapq.heappush(round_.coming, (arrives_s, device, steps))

    def _waits_s(self, device: int) -> float:
        """Before it trains, beside its download."""
        return self.speed.latency_s + float(self.traits.waits_s[device])

    def _is_lost(self, number: int, device: int) -> bool:
        """Whether it falls silent in this round."""
        share = float(self.traits.lost[device])
        return share > 0 and derive_seed(self.seed, "lost", number, device) / 2**53 < share


PREFIX = "device-"
CANDIDATES = 4
"""Devices that a selection which knows no more than their names is shown, for each that is asked."""
