"""Rounds: the plan's pace opens and closes them, devices train and upload, the cloud merges."""

from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.clouds import Cloud, Delivery, Version
from coterie.simulation.device import Device
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.ledger import What
from coterie.simulation.outcome import RoundOutcome
from coterie.simulation.training import parts_in_round, steps_wanted, train
from coterie.simulation.world import World
from coterie_learning.guard import judge
from coterie_learning.heads import begin_rows, pick, place, update_specs
from coterie_learning.help.cartel import Cartel
from coterie_learning.pace import Standing
from coterie_learning.plan import Plan
from coterie_learning.selection import choose
from coterie_wire.tensors import Float32, Tensors

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
        self._residuals: dict[int, Tensors] = {}
        self._busy: set[int] = set()
        self._begun_with: dict[int, int] = {}
        """By device at work, how many of its portions the training began with."""
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
        """Go on from a version, unless the own model does better on what it has not learned by more than noise."""
        own, cartel = cast(NeuralLearner, device.learner), self._plan.help
        newest = device.newest(cartel.recent_batches) if isinstance(cartel, Cartel) else None
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
        wanted = self._plan.pace.invite_count(
            eligible=len(eligible), live=round_.live, delivered=len(round_.deliveries)
        )
        for name in choose(eligible, count=wanted, seed=world.seed_of("round", round_.number)):
            round_.asked.add(eligible[name].number)
            round_.live += 1
            self._assign(round_, eligible[name])
        world.clock.at(world.clock.now_s + LOOK_S, lambda: self._invite(round_))
        self._close_if_due(round_)

    def _is_eligible(self, device: Device) -> bool:
        ready = device.number not in self._busy and device.day.is_ready(self._world.clock.now_s)
        return ready and self._data(device) is not None

    def _data(self, device: Device) -> Dataset | None:
        period_s = self._plan.local.period_s()
        return device.data(since_s=0.0 if period_s is None else self._world.clock.now_s - period_s)

    def _assign(self, round_: _Round, device: Device) -> None:
        world, local = self._world, self._plan.local
        data = self._data(device)
        assert data is not None, "only devices with data are eligible"
        size_bytes = self._download(device)
        base = self._held[device.number]
        starts_s = device.day.done_at(world.clock.now_s, world.download_s(size_bytes))
        parts = parts_in_round(len(data.labels), local)
        steps = steps_wanted(parts, local, base.learner.graphs)
        step_s = world.training_s(device, len(parts.train) * local.epochs_wanted()) / steps
        allowed = self._steps_before_deadline(round_, device, starts_s, step_s, steps)
        if not allowed:
            round_.live -= 1
            return
        self._busy.add(device.number)
        self._begun_with[device.number] = len(device.portions)
        done_s = device.day.done_at(starts_s, step_s * allowed)
        world.clock.at(done_s, lambda: self._train(round_, device, base, data, allowed))

    def _steps_before_deadline(self, round_: _Round, device: Device, starts_s: float, step_s: float, steps: int) -> int:
        """A device that would be late sends what it has: partial work."""
        deadline_s = round_.opened_s + self._plan.pace.deadline_after_s() - self._world.scenario.speed.latency_s
        low, high = 0, steps
        while low < high:
            middle = (low + high + 1) // 2
            fits = device.day.done_at(starts_s, middle * step_s) <= deadline_s
            low, high = (middle, high) if fits else (low, middle - 1)
        return low

    def _train(self, round_: _Round, device: Device, base: Version, data: Dataset, allowed: int) -> None:
        world, local = self._world, self._plan.local
        learner = cast(NeuralLearner, device.learner)
        seen = tuple(sorted({*learner.seen, *data.labels.tolist()}))
        teacher: Float32 | None = None
        if base.teacher is not None and local.needs_teacher():
            teacher = base.teacher.probabilities(data)
        seed = world.training_seed(device)
        received = base.learner.parameters
        parts = parts_in_round(len(data.labels), local)
        trained = train(
            base.learner.graphs,
            self._start(device, base, seen),
            data,
            local,
            parts=parts,
            seen=seen,
            teacher=teacher,
            seed=seed,
            steps_allowed=allowed,
        )
        own = trained.parameters if local.is_personal() else learner.parameters
        device.learner = replace(learner, parameters=own, received=received, seen=seen)
        payload, update = self._encode(device, base, trained.parameters, seen, seed)
        world.ledger.count("updates", len(payload))
        samples = min(len(parts.train), trained.steps_done * base.learner.graphs.spec.batch_size)
        delivery = Delivery(device, base, payload, update, samples, seen)
        arrives_s = device.day.done_at(world.clock.now_s, world.upload_s(len(payload)))
        world.clock.at(arrives_s, lambda: self._deliver(round_, delivery))

    def _start(self, device: Device, base: Version, seen: tuple[int, ...]) -> Tensors:
        """The version received with what has helped since the last update, or the device's own model.

        That has the version's rows for classes that are new to the device.
        """
        learner, local = cast(NeuralLearner, device.learner), self._plan.local
        if local.is_personal() and learner.seen:
            new = sorted(set(seen) - set(learner.seen))
            return begin_rows(learner.parameters, base.learner.parameters, base.learner.graphs.spec, local.scope(), new)
        start = replace(base.learner, seen=seen)
        for portion in device.portions[: self._begun_with[device.number]]:
            start = start.with_rows(portion.payload, portion.terms, known=seen)
        return start.parameters

    def _encode(
        self, device: Device, base: Version, trained: Tensors, seen: tuple[int, ...], seed: int
    ) -> tuple[bytes, Tensors]:
        """The update as it travels, and as the platform reads it: residual, scope, privacy, codec."""
        plan, spec, scope = self._plan, base.learner.graphs.spec, self._plan.local.scope()
        classes = seen if scope.head == "seen" else ()
        lost = self._residuals.get(device.number)
        difference = {
            name: trained[name] - tensor + (0 if lost is None else lost[name])
            for name, tensor in base.learner.parameters.items()
        }
        encoded = plan.codec.encode(plan.privacy.protect(pick(difference, spec, scope, classes)), seed=seed)
        self._residuals[device.number] = place(encoded.residual, spec, scope, classes)
        part = plan.codec.decode(encoded.payload, expected=update_specs(spec, scope, classes))
        return encoded.payload, place(part, spec, scope, classes)

    def _deliver(self, round_: _Round, delivery: Delivery) -> None:
        self._busy.discard(delivery.device.number)
        begun_with = self._begun_with.pop(delivery.device.number)
        if round_ is not self._round:
            return  # the round has closed without it
        del delivery.device.portions[:begun_with]
        round_.live -= 1
        round_.deliveries.append(delivery)
        self._close_if_due(round_)

    def _close_if_due(self, round_: _Round) -> None:
        world, pace = self._world, self._plan.pace
        if round_ is not self._round:
            return
        now_s, delivered = world.clock.now_s, len(round_.deliveries)
        if not pace.should_close(Standing(round_.live, delivered, now_s - round_.opened_s)):
            return
        self._round = None
        merged = pace.verdict(delivered) == "merge"
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
