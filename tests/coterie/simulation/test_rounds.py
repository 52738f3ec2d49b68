"""What a virtual device makes of a version, and where its round begins."""

from collections.abc import Sequence
from typing import cast

import msgspec
import numpy as np
import pytest

from coterie.simulation.clouds import DeliveredUpdate, MergeResult, Version
from coterie.simulation.device import Device, KeptPortion, make_devices
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.learner import TransferTerms
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.rounds import Rounds, seconds_open
from coterie.simulation.table import merge_rows
from coterie.simulation.world import World
from coterie_learning.merge import Aggregate, Finished, ServerState
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.pace.sync import Sync
from coterie_learning.plan import Plan, parse_plan
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors
from tests.coterie.simulation.small import ROUNDS, run, scenario

CARTEL = {"kind": "cartel", "portion": "head"}


class Collecting:
    """A cloud that gives everybody one version and keeps what it is brought."""

    def __init__(self, version: NeuralLearner) -> None:
        self.version = Version(version)
        self.deliveries: list[DeliveredUpdate] = []

    def version_for(self, device: Device | None) -> Version:
        return self.version

    def merge(self, deliveries: Sequence[DeliveredUpdate]) -> MergeResult:
        self.deliveries += deliveries
        return MergeResult(deliveries)

    def is_resting(self, device: Device) -> bool:
        return False


class Small:
    """Two devices that have met a batch each, and a cloud."""

    def __init__(self, help_: dict[str, object]) -> None:
        one = scenario(devices=2)
        self.plan: Plan = parse_plan(
            {"pace": ROUNDS, "help": help_, "requirements": {"charging": False, "unmetered": False}}
        )
        drawn = one.stream.draw(devices=2, seed=0)
        first = one.learner.begin(drawn.task, self.plan.local, seed=0)
        assert isinstance(first, NeuralLearner)
        self.first = first
        self.world = World(
            one.speed,
            one.begins_s,
            drawn,
            make_devices(one, self.plan.requirements, first, count=2, seed=0),
            seed=0,
        )
        self.cloud = Collecting(first)
        self.rounds = Rounds(self.world, self.plan, self.cloud)
        self.rounds.begin()
        self.world.clock.run(until_s=drawn.tick_s)
        for device in self.world.devices:
            device.meet(drawn.batches[device.number][0], drawn.tick_s)

    def own(self, number: int) -> Tensors:
        return cast(NeuralLearner, self.world.devices[number].learner).parameters


def updates_of_a_round(*, with_portion: bool) -> tuple[Small, dict[int, Tensors]]:
    small = Small(CARTEL)
    if with_portion:
        terms = TransferTerms((7,), small.plan, seed=1)
        other = small.first.with_parameters({name: tensor + 1 for name, tensor in small.first.parameters.items()})
        plan = msgspec.json.encode(small.plan.device)
        small.world.devices[0].portions.append(KeptPortion(plan, terms.classes, other.portion(terms)))
    small.world.clock.run(until_s=70)  # the first round alone
    expected = tuple(TensorSpec(name, "float32", one.shape) for name, one in sorted(small.first.parameters.items()))
    updates = {
        delivery.device.number: small.plan.codec.decode(delivery.payload, expected=expected)
        for delivery in small.cloud.deliveries
    }
    return small, updates


def test_a_round_begins_with_what_has_helped_since_the_last_update_and_carries_it_once() -> None:
    small, helped = updates_of_a_round(with_portion=True)
    _, alone = updates_of_a_round(with_portion=False)
    assert set(helped) == set(alone) == {0, 1}
    assert any(np.abs(helped[0][name] - alone[0][name]).max() > 0.1 for name in alone[0])
    for name, tensor in alone[1].items():
        np.testing.assert_array_equal(helped[1][name], tensor)
    assert small.world.devices[0].portions == []


@pytest.mark.parametrize(("help_", "stays"), [(CARTEL, True), ({"kind": "none"}, False)])
def test_a_version_replaces_the_own_model_unless_that_does_better(help_: dict[str, object], *, stays: bool) -> None:
    small = Small(help_)
    device = small.world.devices[0]
    for seed in range(30):
        device.learner = device.learner.learn(small.world.drawn.batches[0][0], seed=seed)
    learned = small.own(0)
    small.cloud.version = Version(small.first.with_parameters({k: v * 0.5 for k, v in small.first.parameters.items()}))
    small.rounds.on_batch(device, small.world.drawn.batches[0][1], np.zeros(10, np.int64))
    expected = learned if stays else small.cloud.version.learner.parameters
    for name, tensor in small.own(0).items():
        np.testing.assert_array_equal(tensor, expected[name])


def test_whole_models_do_not_travel_where_all_devices_have_one() -> None:
    with pytest.raises(DoesNotFit, match="portion learner"):
        run({"pace": ROUNDS, "help": {"kind": "cartel", "portion": "learner"}})


def test_a_round_counts_its_last_update_too_where_the_fleet_is_smaller_than_the_round_wants() -> None:
    wants_more = {"kind": "sync", "target_updates": 10, "min_updates": 1, "deadline_s": 200, "pause_s": 20}
    outcome = run({"pace": wants_more})
    assert len(outcome.rounds) > 1
    assert {(round_.invited, round_.delivered) for round_ in outcome.rounds} == {(4, 4)}


def test_a_round_has_lasted_until_its_deadline_where_the_clock_reaches_it() -> None:
    opened_s, pace = 64229.4, Sync(deadline_s=3600)
    assert (opened_s + 3600) - opened_s < 3600, "the sum is rounded down"
    assert seconds_open(opened_s, opened_s + 3600, pace) == 3600
    assert seconds_open(opened_s, opened_s + 1800, pace) == pytest.approx(1800)
    assert seconds_open(opened_s, opened_s + 3660, pace) == pytest.approx(3660)


def test_a_merge_that_is_not_finite_gives_no_version_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_finite(self: FedAvg, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        return Finished({name: tensor * np.float32("nan") for name, tensor in base.items()}, state)

    plan = {"pace": ROUNDS, "requirements": {"charging": False, "unmetered": False}}
    sound = run(plan).rounds
    assert all(one.outcome == "merged" and one.fault is None for one in sound)
    monkeypatch.setattr(FedAvg, "finish", not_finite)
    outcome = run(plan)
    assert {one.outcome for one in outcome.rounds} == {"abandoned"}
    assert {one.fault.code for one in outcome.rounds if one.fault} == {"merge.not_finite"}
    told = dict(merge_rows(outcome.rounds))
    assert told["rounds merged"] == f"0 of {len(outcome.rounds)}"
    assert told["merges that gave no version"] == str(len(outcome.rounds))
    assert told["the last of them"].endswith("[merge.not_finite]")
