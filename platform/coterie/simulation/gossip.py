"""Gossip rounds on virtual devices: training, meetings of the present members of a group, and the update."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from coterie.simulation.clouds import Version
from coterie.simulation.device import Arrived, Device, joined, numbers_of
from coterie.simulation.meetings import Guest, hold_meeting
from coterie.simulation.on_device import Rows
from coterie.simulation.participant import Participant, Participation
from coterie.simulation.world import World
from coterie_learning.client.optimisation import Diverged
from coterie_learning.client.order import steps_per_epoch
from coterie_learning.client.round import parts_of
from coterie_learning.clipping import MOST_ASKED, most_agreed
from coterie_learning.meetings import MOST_WEIGHT, MeetingRules, decode_whole, encode_whole
from coterie_learning.plan import Plan
from coterie_learning.random import derive_seed
from coterie_learning.walkers import Turn, walkers_of
from coterie_wire.tensors import Tensors


@dataclass(eq=False, kw_only=True)
class Task:
    """One device's part in one round."""

    round: int
    deadline_s: float
    device: Device
    participant: Participant
    base: Version
    data: Sequence[Arrived]
    seen: tuple[int, ...]
    seed: int
    done: Callable[[Participation | None], None]
    """Called with the update; with None where training diverged."""
    number: int = 0
    """Number of the next meeting."""
    difference: Tensors = field(default_factory=dict)
    steps: int = 0
    turn: Turn | None = None
    """What it waits for; None: it is not waiting."""
    looks_at_s: float = 0.0
    """When it next checks whether the wait is over."""


@dataclass(eq=False)
class _Room:
    """One group at one meeting."""

    group: tuple[str, ...]
    guests: dict[str, Task] = field(default_factory=dict)
    met: Tensors | None = None
    """The result of the first of them; None: the meeting has not taken place."""


class Gossip:
    """Gossip among the devices of a round that were invited so far."""

    def __init__(self, world: World, plan: Plan, rules: MeetingRules) -> None:
        self._world, self._plan, self._rules = world, plan, rules
        self._asked: dict[int, list[str]] = {}
        """By round."""
        self._rooms: dict[tuple[int, int, tuple[str, ...]], _Room] = {}
        self._furthest: dict[tuple[int, str], tuple[int, Tensors]] = {}
        """By round and device, the meeting that it is at, with its model."""
        self._waiting: dict[str, Task] = {}
        """By device, those of the round that wait for their turn."""
        self._drawn: dict[int, tuple[str, ...]] = {}
        """By meeting, where few devices are at each."""

    def ask(self, round_: int, device: Device) -> None:
        """Add `device` to the roster of the round."""
        if round_ not in self._asked:  # earlier rounds have ended
            self._asked = {round_: []}
            self._rooms.clear()
            self._furthest.clear()
            self._waiting.clear()
        self._asked[round_].append(device.name)
        self._drawn.clear()
        for task in list(self._waiting.values()):
            self._wait(task)

    def begin(self, task: Task) -> None:
        """The device has the version, and starts."""
        spec = task.base.learner.graphs.spec
        task.difference = {one.name: np.zeros(one.shape, np.float32) for one in spec.parameters}
        self._go_on(task)

    def _go_on(self, task: Task) -> None:
        if task.round not in self._asked:
            return  # it has ended without this device
        self._stand_at(task)
        if self._rules.turn_s is not None:
            self._wait(task)
        else:
            self._begin_part(task)

    def _stand_at(self, task: Task) -> None:
        self._furthest[task.round, task.device.name] = task.number, task.difference
        for name in list(self._waiting):
            if name in self._waiting:
                self._look(self._waiting[name])

    def _begin_part(self, task: Task) -> None:
        """Start the device's next training or meeting, or send its update."""
        world, rules = self._world, self._rules
        now_s = world.clock.now_s
        if task.number >= rules.in_all:
            self._go_home(task)
        elif task.number >= rules.meetings:
            world.clock.at(task.device.day.done_at(now_s, world.speed.latency_s), lambda: self._come(task))
        else:
            done_s = task.device.day.done_at(now_s, self._part_s(task))
            if done_s + world.speed.latency_s >= task.deadline_s:
                self._go_home(task)
            else:
                world.ledger.train(self._part_s(task))
                world.clock.at(done_s, lambda: self._train(task))

    def _part_s(self, task: Task) -> float:
        """Seconds that a training takes."""
        train = parts_of(numbers_of(task.data), self._plan.local).train
        epoch = steps_per_epoch(len(train), task.base.learner.graphs.spec.batch_size)
        steps_wanted = self._plan.local.steps_wanted(epoch)
        return self._world.training_s(task.device, len(train)) / epoch * steps_wanted

    def _train(self, task: Task) -> None:
        learner, numbers = task.base.learner, numbers_of(task.data)
        begun = {name: tensor + task.difference[name] for name, tensor in learner.parameters.items()}
        rows = Rows(joined([arrived.batch for arrived in task.data]), learner.graphs.spec, numbers)
        try:
            trained, steps = task.participant.train_part(
                learner.graphs,
                begun,
                rows,
                seen=task.seen,
                seed=derive_seed(task.seed, "meeting", task.number),
                round_number=task.round,
            )
        except Diverged:
            task.done(None)
            return
        task.difference = {name: trained[name] - tensor for name, tensor in learner.parameters.items()}
        task.steps += steps
        self._come(task)

    def _come(self, task: Task) -> None:
        rules, name = self._rules, task.device.name
        if task.round not in self._asked:
            return
        group = self._group_of(name, task.round, task.number) or (name,)
        room = self._rooms.setdefault((task.round, task.number, group), _Room(group))
        if room.met is not None:
            self._catch_up(task, group)
            return
        room.guests[name] = task
        if len(room.guests) == len(group):
            self._meet(room, task.number)
        elif len(room.guests) == 1:
            clock = self._world.clock
            clock.at(clock.now_s + rules.wait_s, lambda: self._meet(room, task.number))

    def _group_of(self, name: str, round_: int, number: int) -> tuple[str, ...] | None:
        seed = self._world.seed_of("gossip", round_)
        return self._rules.group_of(name, self._asked[round_], number, seed=seed)

    def _catch_up(self, task: Task, group: Sequence[str]) -> None:
        """The others have met without it: it continues from the model of a member that is furthest ahead."""
        others = [name for name in group if name != task.device.name and (task.round, name) in self._furthest]
        found = [self._furthest[task.round, name] for name in others]
        task.number = max(*(number for number, _ in found), task.number + 1)
        self._take_over(task, [difference for _, difference in sorted(found, key=lambda one: -one[0])])
        self._go_on(task)

    def _take_over(self, task: Task, models: Sequence[Tensors]) -> None:
        """The first of `models`, or, where models may be poisoned, the one nearest to most of the first few."""
        asked = models[: MOST_ASKED if self._rules.clips else 1]
        wholes = [encode_whole(one, self._plan.codec, seed=task.seed) for one in asked]
        self._world.ledger.count("meetings", sum(map(len, wholes)))
        specs = task.base.learner.graphs.spec.parameters
        known = [decode_whole(whole, self._plan.codec, specs) for whole in wholes]
        if self._rules.clips:
            task.difference = most_agreed(task.difference, known)
        elif known:
            task.difference = known[0]

    def _meet(self, room: _Room, number: int) -> None:
        if room.met is not None:
            return
        guests = {
            name: Guest(task.difference, self._weight(task), task.seed) for name, task in sorted(room.guests.items())
        }
        specs = next(iter(room.guests.values())).base.learner.graphs.spec.parameters
        met = hold_meeting(guests, specs=specs, codec=self._plan.codec, meeting=number, clips=self._rules.clips)
        self._world.ledger.count("meetings", sum(met.sent_bytes.values()))
        room.met = next(iter(met.difference.values()))
        for name, task in sorted(room.guests.items()):
            task.number, task.difference = number + 1, met.difference[name]
            self._go_on(task)

    def _wait(self, task: Task) -> None:
        """Wait for the next meeting for which the device is drawn; after the last, send the update."""
        rules, name = self._rules, task.device.name
        assert rules.turn_s is not None, "few devices meet each time"
        mine = (number for number in range(task.number, rules.in_all) if name in self._drawn_for(number, task.round))
        until = next(mine, None)
        if until is None:
            self._waiting.pop(name, None)
            self._go_home(task)
            return
        task.turn = Turn(
            until,
            lambda number: self._drawn_for(number, task.round),
            at=task.number,
            wait_s=rules.wait_s,
            turn_s=rules.turn_s,
            now_s=self._world.clock.now_s,
        )
        self._waiting[name] = task
        self._look(task)

    def _look(self, task: Task) -> None:
        """Check whether the device's turn has come, from the others' positions; if not, check again at a change."""
        clock, turn = self._world.clock, task.turn
        if turn is None or task.round not in self._asked:
            return
        heard = -1
        while heard < turn.at < turn.until:
            heard = turn.at
            for name in turn.members_to_ask:
                number, _ = self._furthest.get((task.round, name), (-1, None))
                turn.record_position(name, number, clock.now_s)
        closes_s = task.deadline_s - self._world.speed.latency_s
        has_come = turn.has_come(clock.now_s)
        if has_come or clock.now_s >= closes_s:
            task.turn = None
            del self._waiting[task.device.name]
            self._hop(task, turn) if has_come else self._go_home(task)
        elif task.looks_at_s != (looks_at_s := min(turn.next_s, closes_s)):
            task.looks_at_s = looks_at_s
            clock.at(looks_at_s, lambda: self._look(task))

    def _hop(self, task: Task, turn: Turn) -> None:
        """Take over a model of devices at the earlier meetings, the latest first."""
        drawn = dict.fromkeys(
            name
            for number in range(turn.at - 1, task.number - 1, -1)
            for name in self._drawn_for(number, task.round)
            if name != task.device.name
        )
        found = [self._furthest.get((task.round, name), (-1, {})) for name in drawn]
        self._take_over(task, [difference for at, difference in found if at > task.number])
        task.number = turn.at
        if turn.at > turn.until:
            self._go_on(task)  # the others are past its meeting
        else:
            self._stand_at(task)
            self._begin_part(task)

    def _drawn_for(self, number: int, round_: int) -> tuple[str, ...]:
        if number not in self._drawn:
            seed = self._world.seed_of("gossip", round_)
            self._drawn[number] = walkers_of(self._asked[round_], number, walkers=self._rules.group, seed=seed)
        return self._drawn[number]

    def _weight(self, task: Task) -> int:
        return min(MOST_WEIGHT, len(parts_of(numbers_of(task.data), self._plan.local).train))

    def _go_home(self, task: Task) -> None:
        if not task.steps:
            task.done(None)
            return
        learner = task.base.learner
        trained = {name: tensor + task.difference[name] for name, tensor in learner.parameters.items()}
        samples = min(self._weight(task), task.steps * learner.graphs.spec.batch_size)
        task.done(
            task.participant.come_home(
                learner.graphs.spec, learner.parameters, trained, steps=task.steps, samples=samples, seed=task.seed
            )
        )
