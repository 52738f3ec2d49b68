"""Federated evaluation with real agents: killed in the middle, unplugged, and the platform killed, the figures stay."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from coterie_agent.home import Home
from coterie_agent.store.evaluating import Evaluating
from coterie_agent.store.opened import open_store
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.model import samples
from tests.system.real_agent import READY, UNPLUGGED, RealAgent

TAG = "evaluation"
SLOW = "processor_share = 0.02\n"
"""So that there is time to kill an agent between two samples."""
MANY = 2000


class ThreeAgents:
    """Three agents in a federation whose rounds want more devices than there are."""

    def __init__(self, site: Site, tmp_path: Path, stack: ExitStack) -> None:
        self.site = site
        self.pair = site.unused_pair()
        plan = {"pace": {"kind": "sync", "target_updates": 50, "min_updates": 50}}
        self.federation = site.operator.start_federation(TAG, pair=self.pair, plan=plan)
        self.agents: dict[str, RealAgent] = {}
        for number, name in enumerate(("killed", "unplugged", "steady")):
            token = site.operator.enrolment_token(tag=TAG, also=[name])
            learns = samples(MANY if name == "killed" else 200, seed=number)
            agent = RealAgent(
                tmp_path / name, site.url, token, learns=learns, settings=SLOW if name == "killed" else ""
            )
            stack.callback(agent.kill)
            self.agents[name] = agent
        self.version: str = site.operator.get(f"/pairs/{self.pair}/")["device_champion"]

    def start(self) -> str:
        """An evaluation that all three must measure."""
        body = {"version": self.version, "devices": 3, "reports": 3, "within_s": 300}
        started: str = self.site.operator.post("/evaluations/", body)["id"]
        return started

    def look(self, evaluation: str) -> dict[str, Any]:
        return self.site.operator.get(f"/evaluations/{evaluation}/")

    def told(self, evaluation: str) -> dict[str, tuple[int, float, float]]:
        """The figures of each device, by its name."""
        parts = self.look(evaluation)["parts"]
        return {
            part["device_name"]: (part["samples"], part["loss"], part["accuracy"])
            for part in parts
            if part["reported_at"] is not None
        }

    def ended(self, evaluation: str) -> dict[str, Any]:
        def over() -> dict[str, Any] | None:
            found = self.look(evaluation)
            return found if found["state"] not in ("planned", "measuring") else None

        return eventually(over)


@pytest.fixture
def three(site: Site, tmp_path: Path) -> Iterator[ThreeAgents]:
    with ExitStack() as stack:
        yield ThreeAgents(site, tmp_path, stack)


def stored(agent: RealAgent, evaluation: str) -> Evaluating | None:
    with open_store(Home(agent.home)) as store:
        return store.evaluating.load(evaluation)


@pytest.mark.long
def test_killed_and_unplugged_devices_tell_what_they_would_have(three: ThreeAgents, site: Site) -> None:
    killed, unplugged = three.agents["killed"], three.agents["unplugged"]
    unplugged.set_conditions(UNPLUGGED)
    for agent in three.agents.values():
        agent.start()
    evaluation = three.start()
    eventually(lambda: three.look(evaluation)["state"] == "measuring")
    begun = eventually(lambda: (found := stored(killed, evaluation)) is not None and found.seen > 0 and found)
    killed.kill()
    assert begun.seen < begun.held_out
    eventually(lambda: "steady" in three.told(evaluation))
    assert three.told(evaluation).keys() == {"steady"}, "one is killed, one is on its battery"
    site.platform.kill_all()
    between = stored(killed, evaluation)
    assert between is not None and 0 < between.seen < between.held_out
    killed.start()
    unplugged.set_conditions(READY)
    ended = three.ended(evaluation)
    assert (ended["state"], ended["reason_code"]) == ("finished", "fleet_evaluation.measured")
    figures = ended["figures"]
    assert (figures["reports"], figures["faults"], figures["summary"]["devices"]) == (3, 0, 3)
    assert set(figures["by_tag"]) == {TAG, "killed", "unplugged", "steady"}
    first = three.told(evaluation)
    assert first["killed"][0] == between.held_out

    again = three.start()
    assert three.ended(again)["state"] == "finished"
    assert three.told(again) == first, "measured in one go it comes to the same bits"
    assert three.look(again)["figures"]["summary"] == figures["summary"]
