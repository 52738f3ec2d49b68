"""The schedule of rounds: which devices take part and when their updates arrive, before anything is computed.

The arrival of an update depends on steps and bytes, not on values, so that only the updates that count are computed.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np

from coterie.simulation.days import Day
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.columns import NEVER, Columns, Traits
from coterie.simulation.fleet.splits import Int64
from coterie.simulation.ledger import Ledger
from coterie.simulation.privacy_spent import cost_of_release
from coterie.simulation.rounds import LOOK_S, seconds_open
from coterie.simulation.scenario import Speed
from coterie_learning.client.order import steps_per_epoch
from coterie_learning.pace import View
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_learning.selection import DeviceFacts


class Bytes(NamedTuple):
    """Sizes of what is sent."""

    graphs: int
    version: int
    """The parameters, and the server state sent with them."""
    next_version: int
    """The same for a device with the previous version."""
    update: int
    """The usual size."""


class CompletedTraining(msgspec.Struct, frozen=True, order=True, array_like=True, gc=False):
    """A device's part in a round, with complete training."""

    round: int
    """The round that invited it."""
    version: int
    """The version that it trained from."""
    steps: int
    device: int


class ExpectedUpdate(msgspec.Struct, frozen=True, order=True, array_like=True, gc=False):
    """A device that is training."""

    at_s: float
    """When its update arrives, or its dropout is noticed."""
    device: int
    steps: int
    """0: it has dropped out."""
    round: int
    version: int
    trained_s: float
    """When its training ends."""

    @property
    def delivery(self) -> CompletedTraining:
        """The training, once its update has arrived."""
        return CompletedTraining(self.round, self.version, self.steps, self.device)


class Closed(NamedTuple):
    """A round that has ended."""

    opened_s: float
    ended_s: float
    invited: int
    lost: int
    """Devices that dropped out."""
    deliveries: Sequence[CompletedTraining]
    """Updates received when it closed, at most one a device."""
    is_merged: bool
    taken: Sequence[CompletedTraining] = ()
    """Updates that arrived, but became too stale before a round could merge them."""
    late: Sequence[CompletedTraining] = ()
    """Trainings whose updates arrive too late for any round."""


@dataclass(eq=False)
class _Open:
    number: int
    opened_s: float
    version: int
    asked: set[int] = field(default_factory=set)
    lost: int = 0
    deliveries: list[CompletedTraining] = field(default_factory=list)
    delivered: set[int] = field(default_factory=set)
    """The devices of `deliveries`."""
    taken: list[CompletedTraining] = field(default_factory=list)
    late: list[CompletedTraining] = field(default_factory=list)


@dataclass(eq=False)
class Cohorts:
    """Opens and closes rounds by the plan's pace."""

    plan: Plan
    speed: Speed
    traits: Traits
    columns: Columns
    train_sizes: Int64
    """Samples that each device trains on."""
    batch_size: int
    seed: int
    ledger: Ledger
    beside: Int64 | None = None
    """Samples that each device processes to train a personal model beside a received version."""
    releases: int = 0
    """Number of sums released so far, where the plan's privacy kind has a stream."""
    coming: list[ExpectedUpdate] = field(default_factory=list)
    """A heap; between rounds it is empty unless rounds are asynchronous."""
    waiting: list[CompletedTraining] = field(default_factory=list)
    """Updates that arrived while no round accepted them, oldest first."""

    def hold(self, number: int, *, begins_s: float, ends_s: float, version: int, sizes: Bytes) -> Closed | None:
        """Hold round `number`, once enough devices are ready at or after `begins_s`; None: not before `ends_s`.

        Raises DoesNotFit for a pace that does not end the round at its deadline.
        """
        now_s = begins_s
        while not self._can_open(now_s):
            now_s += LOOK_S
            if now_s >= ends_s:
                return None
        round_ = _Open(number, now_s, version)
        deadline_s = now_s + self.plan.pace.deadline_after_s()
        allowed = self.plan.pace.staleness_allowed()
        if allowed is not None:
            self._carry_over(round_, now_s, allowed, sizes)
        self._ask(round_, now_s, sizes)
        look_s = now_s + LOOK_S
        while not self.plan.pace.decide(self._view(round_, now_s)).ends:
            comes_s = self.coming[0].at_s if self.coming else np.inf
            now_s = float(min(comes_s, deadline_s, look_s))
            if now_s == comes_s:
                one = heapq.heappop(self.coming)
                self._come(round_, one, sizes)
                if allowed is not None or not one.steps:
                    self._ask(round_, now_s, sizes)
            elif now_s == look_s:
                look_s += LOOK_S
                self._ask(round_, now_s, sizes)
            else:
                pace, after_s = self.plan.pace.name, self.plan.pace.deadline_after_s()
                raise DoesNotFit(detail=f"pace {pace} does not end a round at its deadline, after {after_s:g} s")
        is_merged = self.plan.pace.decide(self._view(round_, now_s)).act == "merge"
        if allowed is None:
            self._leave(round_, sorted(self.coming), sizes)
            self.coming.clear()
        return Closed(
            round_.opened_s,
            now_s,
            len(round_.asked),
            round_.lost,
            round_.deliveries,
            is_merged,
            round_.taken,
            round_.late,
        )

    def versions(self) -> set[int]:
        """The versions of devices that are training and of waiting updates."""
        return {one.version for one in self.coming} | {one.version for one in self.waiting}

    def _can_open(self, now_s: float) -> bool:
        if self.coming or self.waiting:
            return True
        return int(self._eligible(now_s, set()).sum()) >= max(1, self.plan.pace.devices_needed())

    def _carry_over(self, round_: _Open, now_s: float, allowed: int, sizes: Bytes) -> None:
        """End training on versions that are too old, and take the waiting updates, one a device."""
        waiting, self.waiting = self.waiting, []
        while self.coming and self.coming[0].at_s <= now_s:
            one = heapq.heappop(self.coming)
            if one.steps:
                self._count_update(one.device, sizes)
                waiting.append(one.delivery)
            else:
                round_.lost += 1
        old = sorted(one for one in self.coming if round_.version - one.version > allowed)
        if old:
            self.coming = [one for one in self.coming if round_.version - one.version <= allowed]
            heapq.heapify(self.coming)
            self.columns.busy_until_s[[one.device for one in old]] = now_s
            self._leave(round_, [one for one in old if one.trained_s <= now_s], sizes)
        for delivery in waiting:
            if round_.version - delivery.version > allowed:
                round_.taken.append(delivery)
            else:
                self._take(round_, delivery)

    def _leave(self, round_: _Open, trained: Sequence[ExpectedUpdate], sizes: Bytes) -> None:
        """Record trainings whose updates are not used."""
        for one in trained:
            if one.steps:
                self._count_update(one.device, sizes)
                round_.late.append(one.delivery)

    def _come(self, round_: _Open, one: ExpectedUpdate, sizes: Bytes) -> None:
        """Handle the arrival of an update, or a dropout."""
        if one.steps:
            self._count_update(one.device, sizes)
            self._take(round_, one.delivery)
        else:
            round_.lost += 1

    def _count_update(self, device: int, sizes: Bytes) -> None:
        self.ledger.count("updates", sizes.update)
        if self.plan.privacy.releases == "updates":
            self.charge([device])

    def charge(self, devices: Sequence[int]) -> None:
        """Charge a release of the updates of `devices` together."""
        cost = cost_of_release(self.plan.privacy, len(devices), fleet=len(self.train_sizes))
        self.columns.privacy_spent[list(devices)] += cost

    def _take(self, round_: _Open, delivery: CompletedTraining) -> None:
        """Add the update to the round; it waits where the round is full or has an update of the device."""
        if len(round_.deliveries) >= self.plan.pace.updates_wanted() or delivery.device in round_.delivered:
            self.waiting.append(delivery)
        else:
            round_.deliveries.append(delivery)
            round_.delivered.add(delivery.device)

    def _view(self, round_: _Open, now_s: float) -> View:
        elapsed_s = seconds_open(round_.opened_s, now_s, self.plan.pace)
        return View(len(self.coming), len(round_.deliveries), elapsed_s)

    def _busy(self, round_: _Open) -> set[int]:
        """Devices that have had a part in the round, or have an update waiting for the next."""
        return round_.asked | round_.delivered | {one.device for one in self.waiting}

    def _eligible(self, now_s: float, but: set[int]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """A mask of the devices that could be invited."""
        eligible = self.traits.availability.ready(now_s) & (self.columns.busy_until_s <= now_s) & (self.train_sizes > 0)
        stream = self.plan.privacy.stream()
        if stream is not None:
            newest = self.columns.released_in
            rested = (newest == NEVER) | (self.releases - newest >= stream.apart)
            eligible &= rested & (self.releases < stream.rounds)
        if but:
            eligible[list(but)] = False
        return eligible

    def _ask(self, round_: _Open, now_s: float, sizes: Bytes) -> None:
        wanted = max(0, self.plan.pace.decide(self._view(round_, now_s)).devices)
        if not wanted:
            return
        seed = derive_seed(self.seed, "round", round_.number)
        found = np.flatnonzero(self._eligible(now_s, self._busy(round_)))
        if not self.plan.selection.reads_history and len(found) > CANDIDATES * wanted:
            # A uniform choice from a random subset is one from all, without a hash for each device of the fleet.
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

    def _known(self, devices: Sequence[int], number: int) -> Sequence[DeviceFacts]:
        if not self.plan.selection.reads_history:
            return [DeviceFacts(f"{PREFIX}{device}") for device in devices]
        columns = self.columns
        return [
            DeviceFacts(
                f"{PREFIX}{device}",
                number - int(columns.asked_in[device]) if columns.asked_in[device] else None,
                None if np.isnan(columns.loss[device]) else float(columns.loss[device]),
                int(self.train_sizes[device]) if columns.counted[device] else 0,
                None if np.isnan(columns.trained_s[device]) else float(columns.trained_s[device]),
            )
            for device in devices
        ]

    def _book(self, round_: _Open, device: int, day: Day, now_s: float, sizes: Bytes) -> None:
        """Schedule download, training and upload, each while conditions hold; a late device sends partial work."""
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
        begins_s = round_.opened_s if self.plan.pace.staleness_allowed() is None else now_s
        latest_s = begins_s + self.plan.pace.deadline_after_s() - speed.latency_s
        wanted = self.plan.local.steps_wanted(epoch)
        steps = day.steps_before(latest_s, starts_s=starts_s, step_s=step_s, wanted=wanted)
        if not steps:
            return
        done_s = day.done_at(starts_s, step_s * steps)
        if self._is_lost(round_.number, device):
            silent_s = starts_s + self.plan.pace.absence_after_s()
            columns.busy_until_s[device] = silent_s
            heapq.heappush(self.coming, ExpectedUpdate(silent_s, device, 0, round_.number, round_.version, done_s))
            return
        arrives_s = day.done_at(done_s, speed.latency_s + sizes.update / float(self.traits.uplink_bytes_s[device]))
        columns.busy_until_s[device], columns.trained_s[device] = arrives_s, step_s * steps
        self.ledger.train(step_s * steps)
        if self.beside is not None and held != round_.version:
            self.ledger.train(speed.sample_s * float(self.traits.slowness[device]) * int(self.beside[device]))
        heapq.heappush(self.coming, ExpectedUpdate(arrives_s, device, steps, round_.number, round_.version, done_s))

    def _waits_s(self, device: int) -> float:
        """Seconds of waiting before it trains, besides its download."""
        return self.speed.latency_s + float(self.traits.waits_s[device])

    def _is_lost(self, number: int, device: int) -> bool:
        """Whether it drops out of this round."""
        share = float(self.traits.lost[device])
        return share > 0 and derive_seed(self.seed, "lost", number, device) / 2**53 < share


PREFIX = "device-"
CANDIDATES = 4
"""Candidates, for each device to be invited, given to a selection that uses only names."""
