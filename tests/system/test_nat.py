"""Real agents behind address translators: an update to a supernode, and meetings, by the way that theory allows."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.nat.network import SERVER, Nat, Network, Place, why_not_here
from tests.nat.post import STUN_PORT
from tests.system.conftest import Prepared
from tests.system.eventually import eventually
from tests.system.model import samples
from tests.system.operator_client import OperatorClient
from tests.system.processes import Platform
from tests.system.real_agent import READY, UNPLUGGED, RealAgent

pytestmark = pytest.mark.long
PORT, RELAY_PORT = 8718, 8717
MEETS = f"[gossip]\nmeet = true\nport = {PORT}\n"
LEADS = f"[relay]\nport = {RELAY_PORT}\nmax_load = 1000.0\n"
OPENS_PATHS = "[direct]\nconnect = true\n"
MEETINGS, SETTLING = 3, 1


class Apart:
    """A platform between two routers, whose operator this process is, and agents on both sides."""

    def __init__(self, network: Network, prepared: Prepared, directory: Path, stack: ExitStack) -> None:
        self._network, self._directory, self._stack = network, directory, stack
        stun = network.start("net", "tests.nat.post")
        assert stun.stdout is not None
        stun.stdout.readline()
        shutil.copytree(prepared.untouched, directory / "state")
        self.platform = Platform(directory / "state", host=SERVER, stun=f"{SERVER}:{STUN_PORT}")
        stack.callback(self.platform.stop)
        with network.inside("net"):
            self.platform.start()
        # Everything that this thread asks from now on it asks there.
        stack.enter_context(network.inside("net"))
        self.operator = stack.enter_context(OperatorClient(self.platform.url, prepared.seeded.token))
        self._pair = prepared.seeded.pairs[0]
        self.agents: list[RealAgent] = []

    def federation(self, topology: dict[str, Any], *, devices: int) -> None:
        plan = {
            "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.01},
            "codec": {"kind": "float32"},
            "topology": topology,
            "pace": {
                "kind": "sync",
                "target_updates": devices,
                "min_updates": devices,
                "over_selection": 1,
                "absent_s": 60,
            },
        }
        self._federation = self.operator.start_federation("apart", pair=self._pair, plan=plan, rounds_wanted=1)
        self._token = self.operator.enrolment_token(tag="apart", also=["site:village"], uses=devices)

    def agent(self, place: Place, settings: str, *, command: str = "run") -> RealAgent:
        """One that runs, and has told who it is; it does not train yet."""
        number = len(self.agents)
        with self._network.inside(place):
            home = self._directory / f"agent-{number}"
            learns = samples(120, seed=number)
            agent = RealAgent(home, self.platform.url, self._token, learns=learns, settings=settings)
            self._stack.callback(agent.kill)
            agent.set_conditions(UNPLUGGED)
            agent.start(command)
        eventually(lambda: self.operator.get(f"/devices/{agent.id}/")["capabilities"].get("peer_key"))
        self.agents.append(agent)
        return agent

    def published(self) -> dict[str, Any]:
        """The round, once all have taken part."""
        for agent in self.agents:
            agent.set_conditions(READY)
        round_ = self.operator.ended_round(self._federation, 1, within_s=180)
        logs = "\n".join(agent.log() for agent in self.agents)
        assert round_["state"] == "published", f"{round_['reason_sentence']}\n{logs}"
        assert round_["metrics"]["updates"] == len(self.agents), logs
        return round_


Put = Callable[[Nat, Nat], Apart]


@pytest.fixture
def put(prepared: Prepared, tmp_path: Path) -> Iterator[Put]:
    """Builds the network, of two routers."""
    if why := why_not_here():
        pytest.skip(why)
    with ExitStack() as stack:

        def build(a: Nat, b: Nat) -> Apart:
            return Apart(stack.enter_context(Network(a, b)), prepared, tmp_path, stack)

        yield build


def ways(agent: RealAgent) -> set[tuple[str, str]]:
    """By which it has reached others."""
    return set(re.findall(r"device (\S+) is reached (.*)", agent.log()))


def most_that_met(agent: RealAgent) -> int:
    return max(int(met) for met in re.findall(r"meeting \d+ of \d+: (\d+) of", agent.log()))


def test_an_update_to_a_supernode_takes_a_direct_path_between_two_routers(put: Put) -> None:
    apart = put("port-restricted", "port-restricted")
    apart.federation({"kind": "supernodes", "wait_s": 20}, devices=3)
    supernode = apart.agent("hb", LEADS + OPENS_PATHS, command="relay")
    members = [apart.agent("ha", OPENS_PATHS) for _ in range(2)]
    round_ = apart.published()
    routes = apart.operator.get(f"/rounds/{round_['id']}/routes/")
    assert [(fold["state"], fold["updates"]) for fold in routes["folds"]] == [("accepted", 2)], supernode.log()
    for member in members:
        assert "a direct path leads to the device" in member.log()


def test_meetings_take_a_direct_path_between_two_routers(put: Put) -> None:
    apart = put("port-restricted", "address-restricted")
    apart.federation(gossip(group=2), devices=2)
    agents = [apart.agent("ha", MEETS + OPENS_PATHS), apart.agent("hb", MEETS + OPENS_PATHS)]
    apart.published()
    for agent, other in (agents, agents[::-1]):
        assert ways(agent) == {(other.id, "by a direct path")}, agent.log()
        assert most_that_met(agent) == 2


def test_a_relay_brings_what_two_symmetric_routers_keep_apart(put: Put) -> None:
    apart = put("symmetric", "symmetric")
    apart.federation(gossip(group=3), devices=3)
    relay = apart.agent("net", MEETS + LEADS + OPENS_PATHS, command="relay")
    agents = [apart.agent("ha", MEETS + OPENS_PATHS), apart.agent("hb", MEETS + OPENS_PATHS)]
    apart.published()
    for agent, other in (agents, agents[::-1]):
        found = ways(agent)
        assert found == {(other.id, f"through device {relay.id}"), (relay.id, "at its address")}, agent.log()
        assert most_that_met(agent) == 3


def gossip(*, group: int) -> dict[str, Any]:
    return {
        "kind": "gossip",
        "meetings": MEETINGS,
        "settling": SETTLING,
        "group": group,
        "wait_s": 25,
        "mixing": "mean",
    }
