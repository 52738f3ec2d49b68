"""Real agents whose owners mean other things by the same, under multi-task learning, killed in the middle."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.model import CLASSES, samples
from tests.system.real_agent import RealAgent

ROUNDS = 3
SHIFTS = (0, 0, 1)
"""What each owner adds to every label."""
PLAN = {
    "local": {"kind": "multitask", "epochs": 40, "learning_rate": 0.02, "mu": 0.1},
    "merge": {"kind": "multitask"},
    "codec": {"kind": "float32"},
    "pace": {"kind": "sync", "target_updates": 3, "min_updates": 3, "over_selection": 1, "pause_s": 0},
}


@pytest.mark.long
def test_each_agent_keeps_a_model_of_its_own_through_rounds_and_kills(site: Site, tmp_path: Path) -> None:
    federation = site.operator.start_federation("multitask", pair=site.unused_pair(), plan=PLAN, rounds_wanted=ROUNDS)
    token = site.operator.enrolment_token(tag="multitask", uses=len(SHIFTS))
    with ExitStack() as stack:
        agents = []
        for number, shift in enumerate(SHIFTS):
            x, y = samples(300, seed=number)
            agent = RealAgent(tmp_path / f"agent-{number}", site.url, token, learns=(x, (y + shift) % CLASSES))
            stack.callback(agent.kill)
            agent.start()
            agents.append(agent)
        killed = agents[-1]
        eventually(lambda: killed.progress().get("steps_done", 0) > 0)
        killed.kill()
        killed.start()
        rounds = [site.operator.ended_round(federation, number) for number in range(1, ROUNDS + 1)]
        assert [(round_["state"], round_["metrics"]["updates"]) for round_ in rounds] == [("published", 3)] * ROUNDS
        x, y = samples(300, seed=99)
        for agent, shift in zip(agents, SHIFTS, strict=True):
            right = [float(np.mean(np.array(agent.predicted(x)) == (y + one) % CLASSES)) for one in (0, 1)]
            assert right[shift] > 0.25 > right[1 - shift], right  # a tenth by chance
