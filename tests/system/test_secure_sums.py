"""Real agents whose updates are summed under masks, with and without noise: no figure of any device is readable."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np

from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.model import samples
from tests.system.real_agent import RealAgent

ROUNDS = 3
AGENTS = 4
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


def test_a_federation_learns_from_sums_alone_while_an_agent_is_killed(site: Site, tmp_path: Path) -> None:
    federation = site.operator.start_federation("sums", pair=site.unused_pair(), plan=PLAN, rounds_wanted=ROUNDS)
    token = site.operator.enrolment_token(tag="sums", uses=AGENTS)
    with ExitStack() as stack:
        agents = started(stack, tmp_path, site, token)
        eventually(lambda: agents[-1].progress().get("stage") in ("training", "uploading"))
        agents[-1].kill()
        agents[-1].start()
        rounds = [site.operator.ended_round(federation, number) for number in range(1, ROUNDS + 1)]

        assert [round_["state"] for round_ in rounds] == ["published"] * ROUNDS
        assert all(round_["metrics"]["updates"] >= 3 for round_ in rounds)
        assert rounds[-1]["metrics"]["mean_loss_after"] < rounds[0]["metrics"]["mean_loss_before"]
        x, y = samples(200, seed=99)
        assert float(np.mean(np.array(agents[0].predicted(x)) == y)) > 0.3  # a tenth by chance


def test_agents_add_noise_that_each_is_charged_for(site: Site, tmp_path: Path) -> None:
    federation = site.operator.start_federation("noisy", pair=site.unused_pair(), plan=NOISY_PLAN, rounds_wanted=2)
    token = site.operator.enrolment_token(tag="noisy", uses=AGENTS)
    with ExitStack() as stack:
        started(stack, tmp_path, site, token)
        rounds = [site.operator.ended_round(federation, number) for number in (1, 2)]

    assert [round_["state"] for round_ in rounds] == ["published"] * 2, [one["reason"] for one in rounds]
    first, second = (round_["metrics"] for round_ in rounds)
    assert 0 < first["epsilon"] < second["epsilon"]
    assert not {"mean_loss_before", "mean_loss_after", "mean_accuracy", "samples"} & {*first, *second}


def started(stack: ExitStack, directory: Path, site: Site, token: str) -> list[RealAgent]:
    """Agents that run until `stack` is closed, each with samples of its own."""
    agents = []
    for number in range(AGENTS):
        x, y = samples(200, seed=number)
        agent = RealAgent(directory / f"agent-{number}", site.url, token, learns=(x, y))
        stack.callback(agent.kill)
        agent.start()
        agents.append(agent)
    return agents
