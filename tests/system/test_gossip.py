"""Real agents that meet: they go on while the platform is away, and bring home what they have come to agree on."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.free_ports import free_port
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.meeting_agents import start_to_meet
from tests.system.model import samples
from tests.system.real_agent import RealAgent

AGENTS, MEETINGS, SETTLING = 5, 12, 3
WAIT_S = 4.0
GOSSIP = {"kind": "gossip", "meetings": MEETINGS, "settling": SETTLING, "wait_s": WAIT_S, "mixing": "mean"}
WALKERS = {"kind": "walkers", "meetings": MEETINGS, "walkers": 2, "wait_s": WAIT_S, "turn_s": 30.0, "mixing": "mean"}
Gossips = tuple[str, list[RealAgent]]


def plan(**topology: object) -> dict[str, Any]:
    return {
        "local": {"kind": "sgd", "epochs": 2, "learning_rate": 0.05},
        "codec": {"kind": "float32"},
        "topology": topology or GOSSIP,
        "pace": {
            "kind": "sync",
            "target_updates": AGENTS,
            "min_updates": AGENTS,
            "over_selection": 1,
            "deadline_s": 600,
            "absent_s": 120,
        },
    }


@pytest.fixture
def gossips(site: Site, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Gossips]:
    """A federation of one round, and the devices that it will ask, each slow enough that one can look on."""
    name = re.sub("[^a-z]+", "-", request.node.name.removeprefix("test_"))[-40:].strip("-")
    with ExitStack() as stack:
        asked = plan(**getattr(request, "param", {}))
        federation = site.operator.start_federation(name, pair=site.unused_pair(), plan=asked, rounds_wanted=1)
        token = site.operator.enrolment_token(tag=name, uses=AGENTS)
        agents = []
        for number in range(AGENTS):
            settings = f'processor_share = 0.05\n[gossip]\nmeet = true\naddress = "127.0.0.1"\nport = {free_port()}\n'
            learns = samples(120, seed=number)
            agents.append(RealAgent(tmp_path / f"peer-{number}", site.url, token, learns=learns, settings=settings))
            stack.callback(agents[-1].kill)
        start_to_meet(site, agents)
        yield federation, agents


def meetings(agent: RealAgent) -> list[tuple[int, int]]:
    """Of each meeting that the agent has been at: its number from 1, and how many devices came."""
    found = re.findall(r"meeting (\d+) of \d+: (\d+) of \d+ devices", agent.log())
    return [(int(number), int(met)) for number, met in found]


def has_been_at(agent: RealAgent, number: int) -> bool:
    """Whether it has been at that meeting, or a later one."""
    return any(at >= number for at, _ in meetings(agent))


def is_through(agent: RealAgent) -> bool:
    """Whether it has been at the last meeting, or came too late to it and has the model of one that was."""
    last = MEETINGS + SETTLING
    return any(number == last for number, _ in meetings(agent)) or f"are at meeting {last + 1}: goes on" in agent.log()


@pytest.mark.long
def test_meetings_go_on_while_the_platform_is_away_and_what_was_learned_comes_home(
    site: Site, gossips: Gossips
) -> None:
    federation, agents = gossips
    eventually(lambda: all(meetings(agent) for agent in agents), within_s=60)
    site.platform.kill_for_good()
    try:
        before = [len(meetings(agent)) for agent in agents]
        eventually(lambda: all(map(is_through, agents)), within_s=120)
    finally:
        site.platform.start()
    assert max(before) < MEETINGS
    together = [met for agent in agents for number, met in meetings(agent)[1:] if number > max(before) + 1]
    assert np.mean(together) > 1.5, "groups of five devices are of three, two or one"
    all_come_home(site, federation, agents)


@pytest.mark.long
def test_an_agent_that_is_killed_goes_on_with_the_others(site: Site, gossips: Gossips) -> None:
    federation, agents = gossips
    killed, others = agents[0], agents[1:]
    eventually(lambda: len(meetings(killed)) >= 2, within_s=60)
    killed.kill()
    at = meetings(killed)[-1][0]
    eventually(lambda: all(has_been_at(agent, at + 3) for agent in others), within_s=120)
    killed.start()
    eventually(lambda: "goes on from there, with the model of one of them" in killed.log(), within_s=60)
    all_come_home(site, federation, agents)
    assert is_through(killed)


@pytest.mark.long
@pytest.mark.parametrize(
    "gossips", [WALKERS, {**WALKERS, "walkers": 3, "mixing": "clipped"}], ids=["mean", "clipped"], indirect=True
)
def test_walkers_hop_on_while_the_platform_is_away_and_pass_over_one_that_is_killed(
    site: Site, gossips: Gossips
) -> None:
    federation, agents = gossips
    eventually(lambda: sum(bool(meetings(agent)) for agent in agents) >= 2, within_s=60)
    site.platform.kill_for_good()
    killed = next(agent for agent in agents if meetings(agent))
    killed.kill()
    try:
        others = [agent for agent in agents if agent is not killed]
        last = MEETINGS // 2 + 2
        eventually(lambda: sum(has_been_at(agent, last) for agent in others) >= 2, within_s=180)
    finally:
        site.platform.start()
    assert any("with the model of one that has met" in agent.log() for agent in others)
    killed.start()
    all_come_home(site, federation, agents)
    came = [len(meetings(agent)) for agent in agents]
    assert all(0 < count < MEETINGS for count in came), "each is drawn for some of the meetings"


def all_come_home(site: Site, federation: str, agents: list[RealAgent]) -> None:
    """What they have learned is in the next version, each device's update once."""
    round_ = site.operator.ended_round(federation, 1, within_s=180)
    assert round_["state"] == "published", round_["reason_sentence"]
    assert round_["metrics"]["updates"] == AGENTS
    assert round_["result_version"] != round_["base_version"]
    version = site.operator.get(f"/versions/{round_['result_version']}/")
    assert version["parent"] == round_["base_version"]
    for agent in agents:
        (outcome,) = eventually(lambda agent=agent: agent.status()["outcomes"])
        assert outcome["outcome"] == "accepted"
