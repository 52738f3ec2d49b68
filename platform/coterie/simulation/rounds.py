"""Rounds: the plan's pace opens and closes them, devices train and upload, the cloud merges."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.clouds import Cloud, Delivery, Version
from coterie.simulation.device import Arrived, Device, joined, numbers_of
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.ledger import What
from coterie.simulation.on_device import Rows, Taught
from coterie.simulation.outcome import RoundOutcome
from coterie.simulation.participant import Part, Participant
from coterie.simulation.world import World
from coterie_learning.client.optimisation import Diverged
from coterie_learning.client.order import steps_per_epoch
from coterie_learning.client.round import parts_of
from coterie_learning.guard import judge
from coterie_learning.heads import place, update_specs
from coterie_learning.pace import View
from coterie_learning.plan import Plan
from coterie_learning.selection import choose
from coterie_learning.updates import split_update
from coterie_wire.tensors import Tensors

LOOK_S = 600.0
"""A round looks so often for devices that have become ready."""


@dataclass(eq=False)
class _Round:
    """The one that is held."""

    number: int
    opened_s: float
    asked: set[int] = field(default_factory=set)
    live: int = 0
    deliveries: list[Delivery] = field(default_factory=list)


class Rounds:
    """The life of a round, as the platform leads it."""

    def __init__(self, world: World, plan: Plan, cloud: Cloud) -> None:
        self._world, self._plan, self._cloud = world, plan, cloud
        self._round: _Round | None = None
        self._held: dict[int, Version] = {}
        """By device, the version that it has downloaded."""
        self._participants = {device.number: Participant(plan.device, device.portions) for device in world.devices}
        self._busy: set[int] = set()
        self.outcomes: list[RoundOutcome] = []

    def is_busy(self, device: Device) -> bool:
        """Whether `device` has an assignment in hand."""
        return device.number in self._busy

    def begin(self) -> None:
        for device in self._world.devices:
            self._download(device)
        # Before the first batch there is nothing to learn from.
        starts_s = max(self._world.drawn.tick_s, self._world.scenario.begins_s)
        self._world.clock.at(starts_s, lambda: self._look(1))

    def on_batch(self, device: Device, batch: Dataset, predicted: NDArray[np.int64]) -> None:  # noqa: ARG002
        """A device that keeps no model of its own follows the newest version."""
        if not self._plan.local.is_personal() and device.day.is_ready(self._world.clock.now_s):
            self._download(device)

    def _download(self, device: Device) -> int:
        """Bytes that it takes to hold the newest version."""
        version, held = self._cloud.version_for(device), self._held.get(device.number)
        if version is held:
            return 0
        first = held is None
        sizes: dict[What, int] = {
            "graphs": version.learner.graphs.size_bytes if first else 0,
            "versions": version.learner.size_bytes,
        }
        if version.teacher is not None and (held is None or version.teacher is not held.teacher):
            sizes["teachers"] = version.teacher.size_bytes
        for what, size_bytes in sizes.items():
            self._world.ledger.count(what, size_bytes)
        self._held[device.number] = version
        if first or not self._plan.local.is_personal():
            self._adopt(device, version.learner)
        return sum(sizes.values())

    def _adopt(self, device: Device, received: NeuralLearner) -> None:
        """Go on from a version, unless the personal model does better on what it has not learned by more than noise."""
        own, rules = cast(NeuralLearner, device.learner), self._plan.help.rules()
        newest = None if rules is None else device.newest(rules.recent_batches)
        if newest is not None:
            by_version, by_own = (one.predict(newest.inputs).argmax(axis=1) for one in (received, own))
            if judge(newest.classes, by_version, by_own).kept:
                device.learner = replace(own, received=received.parameters)
                return
        device.learner = replace(received, seen=own.seen)

    def _look(self, number: int) -> None:
        """Open the round if enough devices are ready; else look again later."""
        world, pace = self._world, self._plan.pace
        if sum(self._is_eligible(device) for device in world.devices) < pace.devices_needed():
            world.clock.at(world.clock.now_s + LOOK_S, lambda: self._look(number))
            return
        round_ = self._round = _Round(number, world.clock.now_s)
        world.clock.at(round_.opened_s + pace.deadline_after_s(), lambda: self._close_if_due(round_))
        self._invite(round_)

    def _invite(self, round_: _Round) -> None:
        """Ask as many devices as the pace wants, now and whenever others may have become ready."""
        world = self._world
        if round_ is not self._round:
            return
        eligible = {
            device.name: device
            for device in world.devices
            if device.number not in round_.asked and self._is_eligible(device)
        }
        wanted = self._plan.pace.decide(self._view(round_)).devices
        for name in choose(eligible, count=wanted, seed=world.seed_of("round", round_.number)):
            round_.asked.add(eligible[name].number)
            round_.live += 1
            self._assign(round_, eligible[name])
        world.clock.at(world.clock.now_s + LOOK_S, lambda: self._invite(round_))
        self._close_if_due(round_)

    def _view(self, round_: _Round) -> View:
        return View(round_.live, len(round_.deliveries), self._world.clock.now_s - round_.opened_s)

    def _is_eligible(self, device: Device) -> bool:
        ready = device.number not in self._busy and device.day.is_ready(self._world.clock.now_s)
        return ready and bool(self._data(device))

    def _data(self, device: Device) -> Sequence[Arrived]:
        period_s = self._plan.local.period_s()
        return device.data(since_s=0.0 if period_s is None else self._world.clock.now_s - period_s)

    def _assign(self, round_: _Round, device: Device) -> None:
        world, local = self._world, self._plan.local
        data = self._data(device)
        size_bytes = self._download(device)
        base = self._held[device.number]
        starts_s = device.day.done_at(world.clock.now_s, world.download_s(size_bytes))
        train = parts_of(numbers_of(data), local).train
        steps = local.epochs_wanted() * steps_per_epoch(len(train), base.learner.graphs.spec.batch_size)
        step_s = world.training_s(device, len(train) * local.epochs_wanted()) / steps
        allowed = self._steps_before_deadline(round_, device, starts_s, step_s, steps)
        if not allowed:
            round_.live -= 1
            return
        self._busy.add(device.number)
        self._participants[device.number].accept()
        seen, done_s = device.seen(), device.day.done_at(starts_s, step_s * allowed)
        world.clock.at(done_s, lambda: self._train(round_, device, base, data, seen, allowed))

    def _steps_before_deadline(self, round_: _Round, device: Device, starts_s: float, step_s: float, steps: int) -> int:
        """A device that would be late sends what it has: partial work."""
        deadline_s = round_.opened_s + self._plan.pace.deadline_after_s() - self._world.scenario.speed.latency_s
        low, high = 0, steps
        while low < high:
            middle = (low + high + 1) // 2
            fits = device.day.done_at(starts_s, middle * step_s) <= deadline_s
            low, high = (middle, high) if fits else (low, middle - 1)
        return low

    def _train(
        self,
        round_: _Round,
        device: Device,
        base: Version,
        data: Sequence[Arrived],
        seen: tuple[int, ...],
        allowed: int,
    ) -> None:
        world, graphs, local = self._world, base.learner.graphs, self._plan.local
        learner, participant = cast(NeuralLearner, device.learner), self._participants[device.number]
        dataset, numbers = joined([arrived.batch for arrived in data]), numbers_of(data)
        teacher = None
        if base.teacher is not None and local.needs_teacher():
            teacher = Taught(base.teacher.probabilities(dataset), numbers)
        try:
            part = participant.take_part(
                graphs,
                base.learner.parameters,
                Rows(dataset, graphs.spec, numbers),
                seen=seen,
                personal=learner.parameters if learner.seen else None,
                teacher=teacher,
                seed=world.training_seed(device),
                steps_allowed=allowed,
            )
        except Diverged:
            self._release(round_, device)
            return
        own = part.trained if local.is_personal() else learner.parameters
        trained_on = tuple(sorted({*learner.seen, *dataset.labels.tolist()}))
        device.learner = replace(learner, parameters=own, received=base.learner.parameters, seen=trained_on)
        world.ledger.count("updates", len(part.payload))
        delivery = Delivery(device, base, part.payload, self._decoded(base, part), part.samples, part.classes)
        arrives_s = device.day.done_at(world.clock.now_s, world.upload_s(len(part.payload)))
        world.clock.at(arrives_s, lambda: self._deliver(round_, delivery))

    def _decoded(self, base: Version, part: Part) -> Tensors:
        """The update as the platform reads it."""
        spec, scope = base.learner.graphs.spec, self._plan.local.scope()
        encoded = split_update(part.payload, spec).encoded
        update = self._plan.codec.decode(encoded, expected=update_specs(spec, scope, part.classes))
        return place(update, spec, scope, part.classes)

    def _release(self, round_: _Round, device: Device) -> None:
        """The device gives its assignment back."""
        self._busy.discard(device.number)
        if round_ is self._round:
            round_.live -= 1
            self._close_if_due(round_)

    def _deliver(self, round_: _Round, delivery: Delivery) -> None:
        self._busy.discard(delivery.device.number)
        if round_ is not self._round:
            return  # the round has closed without it
        self._participants[delivery.device.number].accepted()
        round_.live -= 1
        round_.deliveries.append(delivery)
        self._close_if_due(round_)

    def _close_if_due(self, round_: _Round) -> None:
        world, pace = self._world, self._plan.pace
        if round_ is not self._round:
            return
        now_s, delivered = world.clock.now_s, len(round_.deliveries)
        decision = pace.decide(self._view(round_))
        if not decision.ends:
            return
        self._round = None
        merged = decision.act == "merge"
        if merged:
            self._cloud.merge(round_.deliveries)
        self.outcomes.append(
            RoundOutcome(
                number=round_.number,
                opened_s=round_.opened_s,
                ended_s=now_s,
                invited=len(round_.asked),
                delivered=delivered,
                outcome="merged" if merged else "abandoned",
            )
        )
        world.clock.at(now_s + max(pace.pause_after_s(), MIN_PAUSE_S), lambda: self._look(round_.number + 1))


MIN_PAUSE_S = 1.0
"""What the platform takes to merge and plan; without it, time would stand still in a plan without pauses."""
