"""Real agents that have moved while the platform is away: they find one another through a third, and go on meeting."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.free_ports import free_port
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.meeting_agents import start_to_meet
from tests.system.model import samples
from tests.system.real_agent import RealAgent
from tests.system.test_gossip import GOSSIP, plan

AGENTS, MEETINGS = 3, 40


def settings(port: int) -> str:
    gossip = f'[gossip]\nmeet = true\naddress = "127.0.0.1"\nport = {port}\n'
    return f'processor_share = 0.05\n{gossip}[discovery]\nmode = "announce"\n'


def move(agent: RealAgent) -> int:
    """Start it again at another address; the new port."""
    agent.kill()
    port = free_port()
    toml = agent.home / "agent.toml"
    toml.write_text(re.sub(r"(?m)^port = \d+", f"port = {port}", toml.read_text(encoding="utf-8")), encoding="utf-8")
    agent.start()
    return port


@pytest.fixture
def agents(site: Site, tmp_path: Path) -> Iterator[list[RealAgent]]:
    rules = plan(**GOSSIP | {"meetings": MEETINGS, "settling": 0, "wait_s": 2.0})
    rules["pace"] |= {"target_updates": AGENTS, "min_updates": AGENTS}
    with ExitStack() as stack:
        site.operator.start_federation("moving", pair=site.unused_pair(), plan=rules, rounds_wanted=1)
        token = site.operator.enrolment_token(tag="moving", uses=AGENTS)
        found = []
        for number in range(AGENTS):
            learns = samples(120, seed=number)
            folder = tmp_path / f"mover-{number}"
            found.append(RealAgent(folder, site.url, token, learns=learns, settings=settings(free_port())))
            stack.callback(found[-1].kill)
        start_to_meet(site, found)
        yield found


def meetings_of_all(agent: RealAgent) -> list[int]:
    """The numbers of those that all devices came to."""
    return [int(number) for number in re.findall(rf"meeting (\d+) of \d+: {AGENTS} of {AGENTS} devices", agent.log())]


@pytest.mark.long
def test_devices_that_moved_meet_again_while_the_platform_is_away(site: Site, agents: list[RealAgent]) -> None:
    """Two of three are elsewhere, so that the addresses that the platform named lead neither to the other."""
    first, second, third = agents
    eventually(lambda: all(map(meetings_of_all, agents)), within_s=60)
    site.platform.kill_for_good()
    try:
        ports = {agent.id: move(agent) for agent in (first, second)}
        before = max(max(meetings_of_all(agent)) for agent in agents)
        eventually(lambda: max(meetings_of_all(first)) > before + 1, within_s=60)
        known = {one["device"]: one for one in first.status()["neighbours"]}
        assert known[second.id]["meetings"] == f"127.0.0.1:{ports[second.id]}"
        assert {device: one["found"] for device, one in known.items()} == {second.id: "table", third.id: "directory"}
    finally:
        site.platform.start()
