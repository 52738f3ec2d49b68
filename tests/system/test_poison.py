"""Real agents of which one sends poison to its peers: what the others have learned holds, and they find it out."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from tests.free_ports import free_port
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.meeting_agents import start_to_meet
from tests.system.model import samples
from tests.system.real_agent import RealAgent

AGENTS = 5
PLAN = {
    "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.05},
    "codec": {"kind": "float32"},
    "topology": {"kind": "gossip", "meetings": 8, "settling": 2, "group": AGENTS, "wait_s": 4.0},
    "pace": {
        "kind": "sync",
        "target_updates": AGENTS,
        "min_updates": AGENTS - 1,
        "over_selection": 1,
        "deadline_s": 600,
        "absent_s": 120,
    },
}


class PoisoningAgent(RealAgent):
    """One whose models are ten times what they should be."""

    def _arguments(self, *arguments: str) -> list[str]:
        return [self._python, "-m", "tests.system.poisoning_agent", "--home", str(self.home), *arguments]


@pytest.mark.long
def test_one_that_sends_poison_is_found_out_and_the_others_learn_as_if_it_were_away(site: Site, tmp_path: Path) -> None:
    federation = site.operator.start_federation("poison", pair=site.unused_pair(), plan=PLAN, rounds_wanted=1)
    token = site.operator.enrolment_token(tag="poison", uses=AGENTS)
    with ExitStack() as stack:
        agents: list[RealAgent] = []
        for number in range(AGENTS):
            settings = f'[gossip]\nmeet = true\naddress = "127.0.0.1"\nport = {free_port()}\n'
            kind = RealAgent if number else PoisoningAgent
            learns = samples(120, seed=number)
            agents.append(kind(tmp_path / f"peer-{number}", site.url, token, learns=learns, settings=settings))
            stack.callback(agents[-1].kill)
        start_to_meet(site, agents, within_s=120)
        poisoner, honest = agents[0], agents[1:]
        round_ = site.operator.ended_round(federation, 1, within_s=420)
        assert round_["state"] == "published", round_["reason_sentence"]
        for agent in honest:
            assert f"the model of device {poisoner.id} lies far off" in agent.log()
        assert "lay far off" in site.operator.get(f"/devices/{poisoner.id}/")["quarantine"]
        assert all(not site.operator.get(f"/devices/{agent.id}/")["quarantine"] for agent in honest)
        unseen, labels = samples(300, seed=99)
        for agent in honest:
            eventually(lambda agent=agent: agent.status()["status"]["version"] == round_["result_version"])
            assert np.mean(np.equal(agent.predicted(unseen), labels)) > 0.45, "51 % where nobody sends poison"
