"""Asynchronous rounds on the simulated clock."""

from collections.abc import Mapping

import numpy as np
import pytest

from coterie.simulation.clouds import AveragingCloud
from coterie.simulation.device import make_devices
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.rounds import Rounds
from coterie.simulation.world import World
from coterie_learning.plan import parse_plan
from coterie_wire.tensors import Tensors
from tests.coterie.simulation.small import run, scenario

NOTHING = {"charging": False, "unmetered": False}
UNLIKE = {"sample_s": 0.2, "spread": 1.0}


def buffered(**pace: object) -> dict[str, object]:
    return {"pace": {"kind": "buffered", "deadline_s": 3600, **pace}, "requirements": NOTHING}


def trained(plan: Mapping[str, object]) -> Tensors:
    """The parameters after some rounds of four devices that are equally fast."""
    one = scenario(speed={"sample_s": 0.05, "spread": 0.0})
    parsed = parse_plan(plan)
    drawn = one.stream.draw(devices=4, seed=0)
    first = one.learner.begin(drawn.task, parsed.local, seed=0)
    assert isinstance(first, NeuralLearner)
    devices = make_devices(one, parsed.requirements, first, count=4, seed=0)
    world = World(one.speed, one.begins_s, drawn, devices, seed=0)
    cloud = AveragingCloud(parsed, first, fleet=4)
    rounds = Rounds(world, parsed, cloud)
    for device in world.devices:
        device.meet(drawn.batches[device.number][0], 1.0)
    rounds.begin()
    world.clock.run(until_s=100)
    assert len(rounds.outcomes) > 3
    assert {outcome.delivered for outcome in rounds.outcomes} == {4}
    return cloud.version_for(world.devices[0]).learner.parameters


@pytest.mark.long
@pytest.mark.parametrize("staleness", ["sqrt", "none"])
def test_a_full_cohort_of_equal_speed_gives_the_bits_of_synchronous_rounds(staleness: str) -> None:
    sync = {"kind": "sync", "target_updates": 4, "over_selection": 1, "min_updates": 4}
    wanted = trained({"pace": sync, "requirements": NOTHING})
    found = trained(buffered(buffer=4, at_work=4, staleness=staleness))
    for name, tensor in wanted.items():
        assert found[name].tobytes() == tensor.tobytes()


def test_devices_go_on_while_buffers_are_merged_and_no_update_is_thrown_away() -> None:
    outcome = run(buffered(buffer=2, at_work=4), scenario(speed=UNLIKE))
    merged = [round_ for round_ in outcome.rounds if round_.outcome == "merged"]
    assert merged
    assert max(age for round_ in merged for age in round_.staleness) > 0
    assert all(len(round_.staleness) == round_.delivered for round_ in merged)
    invited = sum(round_.invited for round_ in outcome.rounds)
    delivered = sum(round_.delivered for round_ in outcome.rounds)
    assert invited - delivered <= 4, "but those that are at work at the end"


@pytest.mark.long
def test_nothing_older_than_allowed_is_merged() -> None:
    outcome = run(buffered(buffer=1, at_work=4, max_staleness=1), scenario(speed=UNLIKE))
    assert {age for round_ in outcome.rounds for age in round_.staleness} == {0, 1}


@pytest.mark.long
def test_the_same_seed_gives_the_same_rounds() -> None:
    plan, one = buffered(buffer=2, at_work=3), scenario(speed=UNLIKE)
    first, second = run(plan, one, seed=3), run(plan, one, seed=3)
    assert first == second
    assert np.isfinite(first.accuracy.mean)
