"""Real agents under algorithms that remember, correct or compress, one killed in the middle: their rounds are those
of the same devices in memory that nobody kills, bit for bit."""

import sqlite3
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from coterie_wire.tensors import Tensors, decode_tensors
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.model import SPEC, samples
from tests.system.real_agent import RealAgent
from tests.system.undisturbed import learned_by, undisturbed

AGENTS, ROUNDS = 2, 3
PLANS: Mapping[str, Mapping[str, object]] = {
    "scaffold": {
        "local": {"kind": "scaffold", "steps": 600, "learning_rate": 0.002},
        "merge": {"kind": "scaffold"},
        "down": {"kind": "difference", "encoding": {"kind": "sparse_levels", "step": 2, "feedback": True}},
    },
    "per-fedavg": {
        "local": {"kind": "per_fedavg", "steps": 250, "alpha": 0.02, "beta": 0.005},
        "merge": {"kind": "fed_avg", "weight_by": "uniform"},
        "personal": {"kind": "fine_tuned", "epochs": 3},
    },
    "top-k": {
        "local": {"kind": "sgd", "epochs": 25, "learning_rate": 0.002},
        "codec": {"kind": "top_k", "share": 0.05},
    },
}


@pytest.mark.long
@pytest.mark.parametrize("name", PLANS)
def test_a_kill_changes_no_bit_of_a_version(site: Site, tmp_path: Path, name: str) -> None:
    pace = {"kind": "sync", "target_updates": AGENTS, "min_updates": AGENTS, "over_selection": 1, "pause_s": 0}
    plan = {**PLANS[name], "pace": pace}
    federation = site.operator.start_federation(name, pair=site.unused_pair(), plan=plan, rounds_wanted=ROUNDS)
    token = site.operator.enrolment_token(tag=name, uses=AGENTS)
    with ExitStack() as stack:
        agents = []
        for number in range(AGENTS):
            agent = RealAgent(tmp_path / f"{number}", site.url, token, learns=learned_by(number))
            stack.callback(agent.kill)
            agents.append(agent)
        for agent in agents:
            agent.start()
        killed = agents[-1]
        eventually(lambda: "accepted round 1" in killed.log(), every_s=0.02)
        killed.kill()
        killed.start()
        rounds = [site.operator.ended_round(federation, number, within_s=240) for number in range(1, ROUNDS + 1)]
        if "personal" in plan:
            # The rounds were too quick for it; when the last is over there is time.
            eventually(lambda: tuned_beside(killed) == rounds[-1]["result_version"], within_s=120)
            assert killed.answer(samples(1, seed=9)[0])["personal"]
    assert [(round_["state"], round_["metrics"]["updates"]) for round_ in rounds] == [("published", AGENTS)] * ROUNDS
    first = made(site, rounds[0]["base_version"])
    wanted = undisturbed(plan, first, _seed(site, federation), [agent.id for agent in agents], rounds=ROUNDS)
    for round_, parameters in zip(rounds, wanted, strict=True):
        found = made(site, round_["result_version"])
        assert {key: tensor.tobytes() for key, tensor in found.items()} == {
            key: tensor.tobytes() for key, tensor in parameters.items()
        }
    assert ("difference_bytes" in rounds[-1]["metrics"]) == ("down" in plan)
    for agent in agents:
        assert ("of a difference of" in agent.log()) == ("down" in plan)
        assert "cannot be used" not in agent.log()


def tuned_beside(agent: RealAgent) -> str | None:
    """The version beside which the agent trained its personal model last."""
    peers = (agent.status()["status"] or {}).get("peers") or {}
    return (peers.get("tuned") or {}).get("version")


def made(site: Site, version: str) -> Tensors:
    """The parameters of a version, as the platform keeps them."""
    (path,) = site.platform.state.rglob(site.operator.get(f"/versions/{version}/")["parameters"])
    tensors = decode_tensors(path.read_bytes(), expected=SPEC.version)
    return {name: np.asarray(tensor, np.float32) for name, tensor in tensors.items()}


def _seed(site: Site, federation: str) -> int:
    """What all of the federation's randomness comes from, which the platform tells nobody."""
    (path,) = site.platform.state.glob("*.sqlite3")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        query = "SELECT seed FROM federations_federation WHERE id = ?"
        (seed,) = database.execute(query, [federation.replace("-", "")]).fetchone()
    return int(seed)
