"""Devices that train by themselves: on everything that is new, but for what is kept to judge on."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from coterie.evaluation.datasets import Dataset, Inputs
from coterie.simulation.device import Device, make_devices
from coterie.simulation.learner import TransferTerms
from coterie.simulation.local_training import LocalTraining
from coterie.simulation.world import World
from coterie_wire.conditions import Requirements
from coterie_wire.tensors import Float32
from tests.coterie.simulation.small import run, scenario

NOTHING_ASKED = Requirements(charging=False, unmetered=False)
SAMPLES = 10


@dataclass(frozen=True)
class Noting:
    """A model that notes how many samples it was given at a time."""

    learned: tuple[int, ...] = ()
    size_bytes: int = 0
    batch_size: int | None = None

    def predict(self, inputs: Inputs) -> Float32:
        return np.zeros((len(inputs["x"]), 10), np.float32)

    def learn(self, batch: Dataset, *, seed: int, first: int = 1) -> Self:
        return replace(self, learned=(*self.learned, len(batch.labels)))

    def portion(self, terms: TransferTerms) -> bytes:
        raise NotImplementedError

    def with_portion(self, payload: bytes, terms: TransferTerms, window: Dataset) -> Self:
        raise NotImplementedError


class Alone:
    """One device, which has an assignment as a test says."""

    def __init__(self, *, spares_newest: bool = False, batch_size: int | None = None) -> None:
        one = scenario(devices=1)
        drawn = one.stream.draw(devices=1, seed=0)
        devices = make_devices(one, NOTHING_ASKED, Noting(batch_size=batch_size), count=1, seed=0)
        self.world = World(one.speed, one.begins_s, drawn, devices, seed=0)
        self.busy = False
        self.training = LocalTraining(
            self.world,
            period_s=0.0,
            epochs=1,
            spares_newest=spares_newest,
            is_busy=lambda _device: self.busy,
        )

    @property
    def device(self) -> Device:
        return self.world.devices[0]

    @property
    def learned(self) -> tuple[int, ...]:
        """How many samples it has learned from, training by training."""
        assert isinstance(self.device.learner, Noting)
        return self.device.learner.learned

    def meet(self, batches: int = 1) -> None:
        """One batch a minute, with half a minute after the last."""
        for _ in range(batches):
            self.world.clock.run(until_s=self.world.clock.now_s + 30)
            batch = self.world.drawn.batches[0][len(self.device.samples)]
            predicted = self.device.meet(batch, self.world.clock.now_s)
            self.training.on_batch(self.device, batch, predicted.labels)
            self.world.clock.run(until_s=self.world.clock.now_s + 30)


def test_it_learns_from_each_batch_once() -> None:
    alone = Alone()
    alone.meet(3)
    assert alone.learned == (SAMPLES,) * 3


def test_between_rounds_the_newest_batch_waits_for_the_next() -> None:
    alone = Alone(spares_newest=True)
    alone.meet(3)
    assert alone.learned == (SAMPLES,) * 2
    newest = alone.device.newest(2)
    assert newest is not None
    assert len(newest.labels) == SAMPLES, "what it is judged on it has not learned"


def test_it_learns_whole_batches_and_what_is_left_over_waits() -> None:
    alone = Alone(batch_size=15)
    alone.meet()
    assert alone.learned == ()
    alone.meet(2)
    assert alone.learned == (15, 15)
    alone.meet()
    newest = alone.device.newest(2)
    assert newest is not None
    assert len(newest.labels) == SAMPLES, "what waits is what models are judged on"


def test_a_device_that_keeps_less_than_a_batch_trains_nothing_and_says_so() -> None:
    alone = {"pace": {"kind": "alone"}}
    small, enough = (
        run(alone, scenario(learner={"kind": "neural", "hidden": 4, "batch_size": size})) for size in (31, 30)
    )
    reasons = {device.untrained for device in small.devices}
    assert {reason.code for reason in reasons if reason is not None} == {"data.less_than_a_batch"}
    assert {device.untrained for device in enough.devices} == {None}


def test_with_an_assignment_in_hand_it_waits() -> None:
    alone = Alone()
    alone.busy = True
    alone.meet(2)
    assert alone.learned == ()
    alone.busy = False
    alone.meet()
    assert alone.learned == (3 * SAMPLES,)


def test_devices_that_help_each_other_learn_between_rounds_too() -> None:
    never_asks = {"kind": "cartel", "detector": {"kind": "page_hinkley", "threshold": 1e6}}
    never_enough = {"kind": "sync", "target_updates": 50, "min_updates": 50, "over_selection": 1}
    local = {"kind": "sgd", "epochs": 5}
    untrained, learning = (
        run({"local": local, "pace": never_enough, "help": help_, "requirements": {"charging": False}})
        for help_ in ({"kind": "none"}, never_asks)
    )
    assert not untrained.rounds and not learning.rounds
    assert learning.accuracy.mean > untrained.accuracy.mean + 0.1


def test_a_device_finds_what_is_new_as_if_it_looked_at_all_that_it_keeps() -> None:
    device = Alone().world.devices[0]
    batch = scenario(devices=1).stream.draw(devices=1, seed=0).batches[0][0]
    for time_s, size in enumerate((3, 0, 5, 2)):
        device.meet(batch.take(slice(0, size)), float(time_s))
    assert [one.numbers for one in device.window] == [range(1, 4), range(4, 9), range(9, 11)]
    for number in range(12):
        assert device.since(number) == [one for one in device.window if one.numbers[-1] > number]
