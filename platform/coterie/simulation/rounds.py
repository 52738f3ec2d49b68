"""Rounds: the plan's pace opens and closes them, devices train and upload, the cloud merges."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.clouds import Cloud, DeliveredUpdate, Version
from coterie.simulation.device import Arrived, Device, joined, numbers_of
from coterie.simulation.gossip import Gossip, Task
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.ledger import What
from coterie.simulation.on_device import Rows, Taught
from coterie.simulation.outcome import RoundOutcome
from coterie.simulation.participant import Participant, Participation
from coterie.simulation.personal_training import PersonalTraining
from coterie.simulation.privacy_spent import PrivacySpent
from coterie.simulation.world import World
from coterie_learning.client.optimisation import Diverged
from coterie_learning.client.order import steps_per_epoch
from coterie_learning.client.round import parts_of
from coterie_learning.contribution import sent_bytes
from coterie_learning.guard import judge
from coterie_learning.heads import renew
from coterie_learning.pace import Pace, View
from coterie_learning.plan import Plan
from coterie_learning.selection import DeviceFacts
from coterie_wire.tensors import encode_tensors

LOOK_S = 600.0
"""Seconds between checks for ready devices."""


def seconds_open(opened_s: float, now_s: float, pace: Pace) -> float:
    """Seconds since a round's opening; at its deadline no fewer than until there, however the sum was rounded."""
    longest_s, elapsed_s = pace.deadline_after_s(), now_s - opened_s
    return max(elapsed_s, longest_s) if now_s >= opened_s + longest_s else elapsed_s


@dataclass(eq=False)
class _Round:
    """The round in progress."""

    number: int
    opened_s: float
    asked: set[int] = field(default_factory=set)
    deliveries: list[DeliveredUpdate] = field(default_factory=list)


@dataclass(eq=False)
class _Assignment:
    """A device's current assignment."""

    round: _Round
    """The round that invited it."""
    base: Version
    is_over: bool = False
    """Whether it was ended before its update arrived."""


class _Reported(NamedTuple):
    """A device's reports from rounds, as recorded by the platform."""

    asked_in: int = 0
    """The last round that invited it."""
    loss: float | None = None
    samples: int = 0
    train_s: float | None = None


class Rounds:
    """Opens, advances and ends rounds, as the platform does."""

    def __init__(self, world: World, plan: Plan, cloud: Cloud, most: int | None = None) -> None:
        """At most `most` rounds are held, like in a federation with a limit; None: no limit."""
        self._world, self._plan, self._cloud, self.most = world, plan, cloud, most
        self._round: _Round | None = None
        self._staleness_allowed = plan.pace.staleness_allowed()
        """None: rounds are synchronous, and an assignment ends with its round."""
        self._waiting: list[DeliveredUpdate] = []
        """What came while no asynchronous round took updates, oldest first."""
        self._held: dict[int, Version] = {}
        """By device, the version that it has downloaded."""
        self._participants = {device.number: Participant(plan.device, device.portions) for device in world.devices}
        self._at_work: dict[int, _Assignment] = {}
        """By device; in synchronous rounds also those whose round has ended without them."""
        self._reported: dict[int, _Reported] = {}
        """By device that was asked."""
        rules = plan.personal.rules(plan.local)
        self._follows = not plan.local.trains_personal_model() or not plan.local.scope().is_sent
        self._personal = None if rules is None else PersonalTraining(world, rules, self.is_busy)
        meeting_rules = plan.topology.meeting_rules()
        self._gossip = None if meeting_rules is None else Gossip(world, plan, meeting_rules)
        self._lost = 0
        """Devices that fell silent since a round ended."""
        self.privacy_spent = PrivacySpent(plan.privacy, len(world.devices))
        self.counted: Counter[int] = Counter()
        """By device, the rounds in which its update counted."""
        self.outcomes: list[RoundOutcome] = []

    def is_busy(self, device: Device) -> bool:
        """Whether `device` has an assignment."""
        return device.number in self._at_work

    @property
    def newest(self) -> Version:
        """The newest version, for devices in no group."""
        return self._cloud.version_for(None)

    def version_on(self, device: Device) -> Version | None:
        """The last version that `device` downloaded."""
        return self._held.get(device.number)

    def asked_in(self, device: Device) -> int:
        """The last round that invited `device`; 0: none."""
        return self._reported.get(device.number, _Reported()).asked_in

    def begin(self) -> None:
        for device in self._world.devices:
            self._download(device)
        # There is nothing to train on before the first batch.
        starts_s = max(self._world.drawn.tick_s, self._world.begins_s)
        self._world.clock.at(starts_s, lambda: self._look(1))

    def on_batch(self, device: Device, batch: Dataset, predicted: NDArray[np.int64]) -> None:  # noqa: ARG002
        """Devices adopt the newest version, unless rounds train their personal models."""
        if self._follows and device.day.is_ready(self._world.clock.now_s):
            self._download(device)
        if self._personal is not None:
            self._personal.on_batch(device)

    def _download(self, device: Device) -> int:
        """Download the newest version; returns the bytes."""
        version, held = self._cloud.version_for(device), self.version_on(device)
        if version is held:
            return 0
        first = held is None
        sizes: dict[What, int] = {
            "graphs": version.learner.graphs.size_bytes if first else 0,
            "versions": version.size_bytes(held) + sum(len(encode_tensors(one)) for one in version.server.values()),
        }
        if version.teacher is not None and (held is None or version.teacher is not held.teacher):
            sizes["teachers"] = version.teacher.size_bytes
        for what, size_bytes in sizes.items():
            self._world.ledger.count(what, size_bytes, messages=int(size_bytes > 0))
        self._held[device.number] = version
        if first or self._follows:
            self._adopt(device, version.learner)
        return sum(sizes.values())

    def _adopt(self, device: Device, received: NeuralLearner) -> None:
        """Continue from a version, unless the personal model beats it on unseen samples by more than noise.

        Under plans that train a personal model beside the version, that training chooses the model used.
        """
        if self._personal is not None:
            self._personal.receive(device, received)
            return
        own, rules = cast(NeuralLearner, device.learner), self._plan.help.rules()
        if self._plan.local.trains_personal_model() and own.seen:
            renewed = renew(own.parameters, received.parameters, own.graphs.spec, self._plan.local.scope())
            device.learner = replace(own, parameters=renewed, received=received.parameters)
            return
        newest = None if rules is None else device.newest(rules.recent_batches)
        if newest is not None:
            by_version, by_own = (one.predict(newest.inputs).argmax(axis=1) for one in (received, own))
            if judge(newest.classes, by_version, by_own).kept:
                device.learner = replace(own, received=received.parameters)
                return
        device.learner = replace(received, seen=own.seen)

    def _look(self, number: int) -> None:
        """Open the round if enough devices are ready; else try again later."""
        if self.most is not None and number > self.most:
            return
        world, pace = self._world, self._plan.pace
        is_carried = self._staleness_allowed is not None and (self._at_work or self._waiting)
        if not is_carried and sum(self._is_eligible(device) for device in world.devices) < pace.devices_needed():
            world.clock.at(world.clock.now_s + LOOK_S, lambda: self._look(number))
            return
        round_ = self._round = _Round(number, world.clock.now_s)
        world.clock.at(round_.opened_s + pace.deadline_after_s(), lambda: self._close_if_due(round_))
        if self._staleness_allowed is not None:
            self._carry_over(self._staleness_allowed)
        self._invite(round_)

    def _carry_over(self, allowed: int) -> None:
        """End assignments whose versions are too old, and take the waiting updates, one a device."""
        for number, assignment in list(self._at_work.items()):
            if self._staleness(self._world.devices[number], assignment.base) > allowed:
                assignment.is_over = True
                del self._at_work[number]
        waiting, self._waiting = self._waiting, []
        for delivery in waiting:
            if self._staleness(delivery.device, delivery.base) <= allowed:
                self._take(delivery)

    def _staleness(self, device: Device, base: Version) -> int:
        """How many versions came after `base`."""
        return self._cloud.version_for(device).number - base.number

    def _invite(self, round_: _Round) -> None:
        """Invite as many devices as the pace requires, now and when more become ready."""
        if round_ is self._round:
            self._world.clock.at(self._world.clock.now_s + LOOK_S, lambda: self._invite(round_))
            self._ask(round_)

    def _ask(self, round_: _Round) -> None:
        world = self._world
        had_part = round_.asked | {delivery.device.number for delivery in (*round_.deliveries, *self._waiting)}
        eligible = {
            device.name: device
            for device in world.devices
            if device.number not in had_part and self._is_eligible(device)
        }
        for name in self._plan.selection.choose(
            [self._known(device, round_) for device in eligible.values()],
            count=max(0, self._plan.pace.decide(self._view(round_)).devices),
            round_number=round_.number,
            seed=world.seed_of("round", round_.number),
        ):
            device = eligible[name]
            round_.asked.add(device.number)
            if self._gossip is not None:
                self._gossip.ask(round_.number, device)
            self._reported[device.number] = self._reported.get(device.number, _Reported())._replace(
                asked_in=round_.number
            )
            self._assign(round_, device)
        self._close_if_due(round_)

    def _known(self, device: Device, round_: _Round) -> DeviceFacts:
        reported = self._reported.get(device.number)
        if reported is None:
            return DeviceFacts(device.name)
        return DeviceFacts(
            device.name, round_.number - reported.asked_in, reported.loss, reported.samples, reported.train_s
        )

    def _view(self, round_: _Round) -> View:
        is_carried = self._staleness_allowed is not None
        live = sum(is_carried or assignment.round is round_ for assignment in self._at_work.values())
        elapsed_s = seconds_open(round_.opened_s, self._world.clock.now_s, self._plan.pace)
        return View(live, len(round_.deliveries), elapsed_s)

    def _is_eligible(self, device: Device) -> bool:
        ready = device.number not in self._at_work and device.day.is_ready(self._world.clock.now_s)
        return ready and not self._cloud.is_resting(device) and bool(self._data(device))

    def _data(self, device: Device) -> Sequence[Arrived]:
        period_s = self._plan.local.period_s()
        return device.data(since_s=-math.inf if period_s is None else self._world.clock.now_s - period_s)

    def _assign(self, round_: _Round, device: Device) -> None:
        world, local = self._world, self._plan.local
        data = self._data(device)
        size_bytes = self._download(device)
        base = self._held[device.number]
        starts_s = device.day.done_at(world.clock.now_s, world.download_s(device, size_bytes) + device.link.waits_s)
        train = parts_of(numbers_of(data), local).train
        epoch = steps_per_epoch(len(train), base.learner.graphs.spec.batch_size)
        steps, step_s = local.steps_wanted(epoch), world.training_s(device, len(train)) / epoch
        allowed = self._steps_before_deadline(round_, device, starts_s, step_s, steps)
        if not allowed:
            return
        assignment = self._at_work[device.number] = _Assignment(round_, base)
        self._participants[device.number].accept()
        if world.falls_silent(device, round_.number):
            world.clock.at(starts_s + self._plan.pace.absence_after_s(), lambda: self._lose(assignment, device))
            return
        if self._gossip is not None:
            world.clock.at(starts_s, lambda: self._begin_gossip(assignment, device, data))
            return
        world.ledger.train(step_s * allowed)
        seen, done_s = device.seen(), device.day.done_at(starts_s, step_s * allowed)
        world.clock.at(done_s, lambda: self._train(assignment, device, data, seen, allowed))

    def _steps_before_deadline(self, round_: _Round, device: Device, starts_s: float, step_s: float, steps: int) -> int:
        """The steps done by the deadline; a late device sends partial work."""
        begins_s = round_.opened_s if self._staleness_allowed is None else self._world.clock.now_s
        deadline_s = begins_s + self._plan.pace.deadline_after_s() - self._world.speed.latency_s
        return device.day.steps_before(deadline_s, starts_s=starts_s, step_s=step_s, wanted=steps)

    def _train(
        self,
        assignment: _Assignment,
        device: Device,
        data: Sequence[Arrived],
        seen: tuple[int, ...],
        allowed: int,
    ) -> None:
        if assignment.is_over:
            return
        base = assignment.base
        world, graphs, local = self._world, base.learner.graphs, self._plan.local
        learner, participant = cast(NeuralLearner, device.learner), self._participants[device.number]
        dataset, numbers = joined([arrived.batch for arrived in data]), numbers_of(data)
        teacher = None
        if base.teacher is not None and local.needs_teacher():
            teacher = Taught(base.teacher.probabilities(dataset), numbers)
        if base.privacy is not None:
            participant.plan = msgspec.structs.replace(self._plan.device, privacy=base.privacy)
        seed = world.training_seed(device)
        try:
            part = participant.take_part(
                graphs,
                base.learner.parameters,
                Rows(dataset, graphs.spec, numbers),
                seen=seen,
                personal=learner.parameters if learner.seen else None,
                teacher=teacher,
                seed=seed,
                server=base.server,
                round_number=assignment.round.number,
                steps_allowed=allowed,
            )
        except Diverged:
            self._release(assignment, device)
            return
        self._send(assignment, device, data, part, seed)

    def _begin_gossip(self, assignment: _Assignment, device: Device, data: Sequence[Arrived]) -> None:
        """Start gossip, after which the device sends its update."""
        assert self._gossip is not None, "the plan has meetings"
        seed = self._world.training_seed(device)

        def done(part: Participation | None) -> None:
            if part is None:
                self._release(assignment, device)
            else:
                self._send(assignment, device, data, part, seed)

        deadline_s = assignment.round.opened_s + self._plan.pace.deadline_after_s()
        self._gossip.begin(
            Task(
                round=assignment.round.number,
                deadline_s=deadline_s,
                device=device,
                participant=self._participants[device.number],
                base=assignment.base,
                data=data,
                seen=device.seen(),
                seed=seed,
                done=done,
            )
        )

    def _send(
        self, assignment: _Assignment, device: Device, data: Sequence[Arrived], part: Participation, seed: int
    ) -> None:
        """Send the update of a trained device."""
        world, local, base = self._world, self._plan.local, assignment.base
        learner = cast(NeuralLearner, device.learner)
        dataset = joined([arrived.batch for arrived in data])
        own = part.trained if local.trains_personal_model() else learner.parameters
        trained_on = tuple(sorted({*learner.seen, *dataset.labels.tolist()}))
        device.learner = replace(learner, parameters=own, received=base.learner.parameters, seen=trained_on)
        size_bytes = self._sent_bytes(base, part)
        world.ledger.count("updates", size_bytes)
        if self._plan.privacy.releases == "updates":
            self.privacy_spent.release([device.number])
        delivery = DeliveredUpdate(device, base, part.payload, part.samples, part.classes, seed)
        arrives_s = device.day.done_at(world.clock.now_s, world.upload_s(device, size_bytes))
        world.clock.at(arrives_s, lambda: self._deliver(assignment, delivery))

    def _sent_bytes(self, base: Version, part: Participation) -> int:
        """Size of the update, or of its vector where updates are summed under masks."""
        if self._plan.privacy.masking() is None:
            return len(part.payload)
        return sent_bytes(self._plan, base.learner.graphs.spec).usual

    def _release(self, assignment: _Assignment, device: Device) -> None:
        """Release the device's assignment."""
        del self._at_work[device.number]
        self._go_on(assignment)

    def _lose(self, assignment: _Assignment, device: Device) -> None:
        """Drop a device after a long silence, so that another is invited."""
        if assignment.is_over:
            return
        del self._at_work[device.number]
        if self._staleness_allowed is None and assignment.round is not self._round:
            return
        self._lost += 1
        if self._round is not None:
            self._ask(self._round)

    def _deliver(self, assignment: _Assignment, delivery: DeliveredUpdate) -> None:
        if assignment.is_over:
            return
        del self._at_work[delivery.device.number]
        if self._staleness_allowed is None and assignment.round is not self._round:
            return  # the round closed without it
        self._participants[delivery.device.number].accepted()
        self._remember(delivery)
        self._take(delivery)
        self._go_on(assignment)

    def _remember(self, delivery: DeliveredUpdate) -> None:
        if self._plan.selection.reads_history:
            device = delivery.device
            dataset = joined([arrived.batch for arrived in self._data(device)])
            picked = np.arange(len(dataset.labels)), dataset.labels
            right = delivery.base.learner.predict(dataset.inputs)[picked]
            self._reported[device.number] = self._reported[device.number]._replace(
                loss=float(-np.log(np.maximum(right, LEAST_PROBABILITY)).mean()),
                samples=delivery.samples,
                train_s=self._world.training_s(device, len(dataset.labels) * self._plan.local.epochs_wanted()),
            )

    def _take(self, delivery: DeliveredUpdate) -> None:
        """Add the update to the open round; it waits where that is full or has an update of the device."""
        round_ = self._round
        taken = [] if round_ is None else round_.deliveries
        is_full = len(taken) >= self._plan.pace.updates_wanted()
        if round_ is None or is_full or any(one.device is delivery.device for one in taken):
            self._waiting.append(delivery)
        else:
            taken.append(delivery)

    def _go_on(self, assignment: _Assignment) -> None:
        """A device is free: close the round if it waits for no other, or start the next."""
        if self._round is None or (self._staleness_allowed is None and assignment.round is not self._round):
            return
        if self._staleness_allowed is None:
            self._close_if_due(self._round)
        else:
            self._ask(self._round)

    def _close_if_due(self, round_: _Round) -> None:
        world, pace = self._world, self._plan.pace
        if round_ is not self._round:
            return
        now_s, delivered = world.clock.now_s, len(round_.deliveries)
        decision = pace.decide(self._view(round_))
        if not decision.ends:
            return
        self._round = None
        is_merged, fault = decision.act == "merge", None
        ages = tuple(sorted(self._staleness(delivery.device, delivery.base) for delivery in round_.deliveries))
        if is_merged:
            summed, fault = self._cloud.merge(round_.deliveries)
            is_merged = fault is None
            if self._plan.privacy.releases in ("sums", "masked_sums"):
                self.privacy_spent.release(one.device.number for one in summed)
        if is_merged:
            self.counted.update(delivery.device.number for delivery in round_.deliveries)
        self.outcomes.append(
            RoundOutcome(
                number=round_.number,
                opened_s=round_.opened_s,
                ended_s=now_s,
                invited=len(round_.asked),
                delivered=delivered,
                outcome="merged" if is_merged else "abandoned",
                staleness=() if self._staleness_allowed is None else ages,
                lost=self._lost,
                fault=None if fault is None else fault.reason(),
            )
        )
        self._lost = 0
        world.clock.at(now_s + max(pace.pause_after_s(), MIN_PAUSE_S), lambda: self._look(round_.number + 1))


LEAST_PROBABILITY = 1e-7
"""Keeps losses finite."""
MIN_PAUSE_S = 1.0
"""Seconds that the platform takes to merge and plan; without them, time would not advance in a plan without pauses."""
