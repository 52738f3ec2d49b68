"""Real agents whose updates are summed under masks, with and without noise: no figure of any device is readable.

Killed at random in each step of a sum, agents and platform, they give the plain sum of what those had that are in it,
bit for bit, or none, with a reason.
"""

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from coterie_learning.plan import Plan, parse_plan
from coterie_wire.tensors import Tensors, decode_tensors
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.model import SPEC, samples
from tests.system.real_agent import RealAgent
from tests.system.summed_agents import STEPS, Disk, Json, Step, made_of_plain_sum

ROUNDS = 3
AGENTS, MANY, FEWEST_OF_MANY = 4, 16, 9
PATIENCE_S = 240.0
PLAN = {
    "local": {"kind": "sgd", "epochs": 5, "learning_rate": 0.05},
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
    "codec": {"kind": "float32"},
    "privacy": {
        "kind": "secure_aggregation",
        "min_devices": 3,
        "norm": 5.0,
        "corrupted": 0.0,
        "dropped": 0.25,
        "step_s": 3,
    },
    "pace": {"kind": "sync", "target_updates": AGENTS, "min_updates": 3, "over_selection": 1, "pause_s": 0},
}
PLAN_OF_MANY = {
    **PLAN,
    "privacy": {
        "kind": "secure_aggregation",
        "min_devices": FEWEST_OF_MANY,
        "norm": 5.0,
        "corrupted": 0.1,
        "dropped": 0.3,
        "step_s": 10,
    },
    "pace": {
        "kind": "sync",
        "target_updates": MANY,
        "min_updates": FEWEST_OF_MANY,
        "over_selection": 1,
        "pause_s": 2,
        "absent_s": 20,
    },
}
WITH_NUMBERS: Mapping[str, Mapping[str, object]] = {
    "q_fed_avg": {"local": {"kind": "q_fed_avg", "epochs": 5, "learning_rate": 0.05}, "merge": {"kind": "q_fed_avg"}},
    "fed_nova": {
        "local": {"kind": "fed_nova", "epochs": 5, "learning_rate": 0.05},
        "merge": {"kind": "fed_nova", "weight_by": "uniform"},
    },
}
"""Algorithms whose devices send numbers beside their updates."""
NOISY_PLAN = {
    **PLAN,
    "privacy": {
        "kind": "distributed_noise",
        "min_devices": 3,
        "norm": 5.0,
        "corrupted": 0.0,
        "dropped": 0.25,
        "noise_multiplier": 4.0,
        "step_s": 3,
    },
}


def test_a_federation_learns_from_sums_alone_while_an_agent_is_killed_in_each_step(site: Site, tmp_path: Path) -> None:
    federation = site.operator.start_federation("sums", pair=site.unused_pair(), plan=PLAN)
    with ExitStack() as stack:
        disks = started(stack, tmp_path, site, "sums", AGENTS)
        killed, disk = list(disks.items())[-1]
        for step in STEPS:
            wait_for(disk, step)
            killed.kill()
            killed.start()
        rounds = ended_rounds(site, federation, published=ROUNDS)
        check(site, rounds, parse_plan(PLAN), disks)
        published = [round_["metrics"] for round_ in rounds if round_["state"] == "published"]
        assert published[-1]["mean_loss_after"] < published[0]["mean_loss_before"]
        x, y = samples(200, seed=99)
        assert float(np.mean(np.array(killed.predicted(x)) == y)) > 0.3  # a tenth by chance
        site.operator.post(f"/federations/{federation}/finish/")


@pytest.mark.long
def test_sixteen_agents_and_the_platform_killed_at_random_in_each_step(site: Site, tmp_path: Path) -> None:
    """In each step three agents die: one comes back at once, the others once the round has ended without them."""
    chance = random.Random(16)
    federation = site.operator.start_federation("many-sums", pair=site.unused_pair(), plan=PLAN_OF_MANY)
    with ExitStack() as stack:
        disks = started(stack, tmp_path, site, "many-sums", MANY)
        for kills_platform in (False, True):
            for step in STEPS:
                killed = chance.sample(list(disks), 3)
                wait_for(disks[killed[0]], step)
                for agent in killed:
                    agent.kill()
                    time.sleep(chance.uniform(0, 0.2))  # waits for nothing: any moment is as good
                if kills_platform:
                    site.platform.kill_server()
                before = len(ended(site, federation))
                killed[0].start()
                eventually(lambda before=before: len(ended(site, federation)) > before, within_s=PATIENCE_S)  # type: ignore[misc]
                for agent in killed[1:]:
                    agent.start()
        so_far = sum(round_["state"] == "published" for round_ in ended(site, federation))
        rounds = ended_rounds(site, federation, published=so_far + 1)
        check(site, rounds, parse_plan(PLAN_OF_MANY), disks)
        summed = [round_["updates"] for round_ in rounds if round_["state"] == "published"]
        assert min(summed) >= FEWEST_OF_MANY
        assert min(summed) < MANY, "somebody was lost to a sum that was recovered without it"
        site.operator.post(f"/federations/{federation}/finish/")


@pytest.mark.long
@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_numbers_that_agents_send_beside_updates_are_summed_with_them(site: Site, tmp_path: Path, name: str) -> None:
    plan, tag = {**PLAN, **WITH_NUMBERS[name]}, f"sums-{name}"
    federation = site.operator.start_federation(tag, pair=site.unused_pair(), plan=plan)
    with ExitStack() as stack:
        disks = started(stack, tmp_path, site, tag, AGENTS)
        check(site, ended_rounds(site, federation, published=2), parse_plan(plan), disks)
        site.operator.post(f"/federations/{federation}/finish/")


@pytest.mark.long
def test_agents_add_noise_that_each_is_charged_for(site: Site, tmp_path: Path) -> None:
    federation = site.operator.start_federation("noisy", pair=site.unused_pair(), plan=NOISY_PLAN, rounds_wanted=2)
    with ExitStack() as stack:
        started(stack, tmp_path, site, "noisy", AGENTS)
        rounds = [site.operator.ended_round(federation, number) for number in (1, 2)]

    assert [round_["state"] for round_ in rounds] == ["published"] * 2, [one["reason"] for one in rounds]
    first, second = (round_["metrics"] for round_ in rounds)
    assert 0 < first["epsilon"] < second["epsilon"]
    assert not {"mean_loss_before", "mean_loss_after", "mean_accuracy", "samples"} & {*first, *second}


def started(stack: ExitStack, directory: Path, site: Site, tag: str, count: int) -> Mapping[RealAgent, Disk]:
    """Agents that run until `stack` is closed, each with samples of its own, and their disks."""
    token, disks = site.operator.enrolment_token(tag=tag, uses=count), {}
    for number in range(count):
        x, y = samples(200, seed=number)
        agent = RealAgent(directory / f"agent-{number}", site.url, token, learns=(x, y))
        stack.callback(agent.kill)
        disks[agent] = Disk(agent)
    for agent in disks:
        agent.start()
    return disks


def wait_for(disk: Disk, step: Step) -> None:
    """Until the agent has prepared a step of a sum, in whichever round: it may or may not have been heard of."""
    eventually(lambda: disk.step() == step, within_s=PATIENCE_S, every_s=0.02)


def ended(site: Site, federation: str) -> list[Json]:
    """The rounds that are over, in their order."""
    rounds = site.operator.list("/rounds/", federation=federation, sort="number", page_size=200)
    return [round_ for round_ in rounds if round_["state"] in ("published", "abandoned")]


def ended_rounds(site: Site, federation: str, *, published: int) -> list[Json]:
    """All that are over once so many are published, with their devices."""

    def look() -> list[Json] | None:
        found = ended(site, federation)
        return found if sum(round_["state"] == "published" for round_ in found) >= published else None

    return [site.operator.get(f"/rounds/{round_['id']}/") for round_ in eventually(look, within_s=PATIENCE_S)]


def check(site: Site, rounds: Sequence[Json], plan: Plan, disks: Mapping[RealAgent, Disk]) -> None:
    """Each is the plain sum of what its devices had, bit for bit, or was abandoned with a reason."""
    by_device = {agent.id: disk for agent, disk in disks.items()}
    for round_ in rounds:
        if round_["state"] == "abandoned":
            assert round_["reason_code"] and round_["result_version"] is None
            continue
        wanted = made_of_plain_sum(plan, round_, by_device, version(site, round_["base_version"]))
        found = version(site, round_["result_version"])
        assert {name: tensor.tobytes() for name, tensor in found.items()} == {
            name: tensor.tobytes() for name, tensor in wanted.items()
        }


def version(site: Site, key: str) -> Tensors:
    """Its parameters, as the platform keeps them."""
    (path,) = site.platform.state.rglob(site.operator.get(f"/versions/{key}/")["parameters"])
    return decode_tensors(path.read_bytes(), expected=SPEC.version)
