"""Real agents of a site that is cut off: its supernodes agree on who takes waiting updates, whichever is killed."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from coterie_agent.home import Home
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.real_agent import READY, UNPLUGGED, Json, RealAgent
from tests.system.test_supernodes import relay_settings

VOTERS, MEMBERS = 3, 3
SLOW = 0.0001
"""Share of the time for training with which no update is ready while this test lasts."""


class Neighbourhood:
    """Three supernodes, of which one is at work, and devices that send to it; all have a part in a round."""

    def __init__(self, site: Site, folder: Path, stack: ExitStack) -> None:
        self.site, devices = site, VOTERS + MEMBERS
        plan = {
            "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.01},
            "codec": {"kind": "float32"},
            "topology": {"kind": "supernodes", "wait_s": 30.0},
            "pace": {
                "kind": "sync",
                "target_updates": devices,
                "min_updates": devices,
                "over_selection": 1,
                "absent_s": 60,
            },
        }
        self.federation = site.operator.start_federation("island", pair=site.unused_pair(), plan=plan, rounds_wanted=1)
        token = site.operator.enrolment_token(tag="island", also=["site:hall-3"], uses=devices)
        slow = f"processor_share = {SLOW}\n"
        self.voters = [
            RealAgent(folder / f"voter-{number}", site.url, token, settings=slow + relay_settings())
            for number in range(VOTERS)
        ]
        self.members = [
            RealAgent(folder / f"member-{number}", site.url, token, settings=slow) for number in range(MEMBERS)
        ]
        for agent in (*self.voters, *self.members):
            stack.callback(agent.kill)
            agent.set_conditions(UNPLUGGED)
            self.start(agent)
        for agent in (*self.voters, *self.members):
            device = f"/devices/{agent.id}/"
            eventually(lambda device=device: site.operator.get(device)["capabilities"].get("peer_key"))
        for agent in (*self.voters, *self.members):
            agent.set_conditions(READY)
        eventually(lambda: all(map(has_begun, (*self.voters, *self.members))), within_s=90)
        eventually(lambda: all(map(knows_its_island, self.voters)), within_s=60)

    def start(self, agent: RealAgent) -> None:
        agent.start("relay" if agent in self.voters else "run")

    def hurry(self, agent: RealAgent) -> None:
        """Start it again, with all the time there is for training."""
        agent.kill()
        toml = agent.home / "agent.toml"
        settings = re.sub(r"processor_share = \S+", "processor_share = 1.0", toml.read_text(encoding="utf-8"))
        toml.write_text(settings, encoding="utf-8")
        self.start(agent)


def has_begun(agent: RealAgent) -> bool:
    return agent.progress().get("stage") == "training"


def knows_its_island(agent: RealAgent) -> bool:
    with closing(sqlite3.connect(Home(agent.home).database)) as database:
        return database.execute("SELECT count(*) FROM island").fetchone() == (1,)


def island_of(agent: RealAgent) -> Json:
    """What it knows of its island; empty where it takes part in none."""
    status = agent.status()["status"]
    return status["island"] or {}


def agreed(voters: Sequence[RealAgent], *, updates: int) -> Json | None:
    """What all of `voters` say, once they say the same of so many updates, and who of them leads."""
    told = [island_of(voter) for voter in voters]
    is_same = all(one == told[0] for one in told) and len(told[0].get("holders", ())) == updates
    return told[0] if is_same and told[0]["leader"] in {voter.id for voter in voters} else None


@pytest.fixture
def neighbourhood(site: Site, tmp_path: Path) -> Iterator[Neighbourhood]:
    with ExitStack() as stack:
        yield Neighbourhood(site, tmp_path, stack)


@pytest.mark.long
def test_waiting_updates_are_held_whoever_is_killed_until_the_platform_is_there_again(
    neighbourhood: Neighbourhood,
) -> None:
    site, voters, members = neighbourhood.site, neighbourhood.voters, neighbourhood.members
    site.platform.kill_for_good()
    try:
        for member in members:
            neighbourhood.hurry(member)
        before = eventually(lambda: agreed(voters, updates=MEMBERS), within_s=90)
        first = next(voter for voter in voters if voter.id == before["leader"])
        assert set(before["holders"].values()) == {first.id}
        first.kill()
        rest = [voter for voter in voters if voter is not first]
        after = eventually(lambda: agreed(rest, updates=MEMBERS))
        assert after["holders"] == before["holders"]
        assert after["leader"] != first.id and after["term"] > before["term"]
        neighbourhood.start(first)
        assert eventually(lambda: agreed(voters, updates=MEMBERS))["holders"] == before["holders"]
        assert all("holds the update until the platform is there again" in member.log() for member in members)
    finally:
        site.platform.start()
    for voter in voters:
        neighbourhood.hurry(voter)
    round_ = site.operator.ended_round(neighbourhood.federation, 1, within_s=180)
    assert round_["state"] == "published", round_["reason_sentence"]
    assert round_["metrics"]["updates"] == VOTERS + MEMBERS
    eventually(lambda: not any(map(island_of, voters)))
