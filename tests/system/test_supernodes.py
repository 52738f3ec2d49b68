"""Real agents with a supernode among them: one sum leaves the site, and the version has the bits of a star."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from coterie_learning.codec.float32 import Float32Codec
from tests.free_ports import free_port
from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.flat_merge import flat_version, update_files
from tests.system.real_agent import READY, UNPLUGGED, RealAgent

MEMBERS = 4
WAIT_S = 5.0


@dataclass(frozen=True)
class Neighbourhood:
    """A supernode and its neighbours, in a federation of their own."""

    site: Site
    federation: str
    supernode: RealAgent
    members: list[RealAgent]

    def routes(self) -> dict[str, Any]:
        """Who reports through whom; empty before the round is planned."""
        round_ = self.site.operator.round(self.federation, 1)
        return self.site.operator.get(f"/rounds/{round_['id']}/routes/") if round_ else {"routes": [], "folds": []}

    def held(self) -> list[str]:
        """The devices whose updates the supernode holds."""
        return [route["device"] for route in self.routes()["routes"] if route["held_at"]]

    def published(self) -> dict[str, Any]:
        round_ = self.site.operator.ended_round(self.federation, 1, within_s=120)
        assert round_["state"] == "published", round_["reason_sentence"]
        return round_

    def assert_bits_of_a_star(self, round_: dict[str, Any], also: Sequence[Path] = ()) -> None:
        """The flat merge of the same updates, of which those in the homes `also` hold some, makes the same file."""
        files = update_files(self.site.platform.state, [self.supernode.home, *also])
        version = self.site.operator.get(f"/versions/{round_['result_version']}/")
        assert version["parameters"] == flat_version(round_, files, codec=Float32Codec())


@pytest.fixture
def new_neighbourhood(
    site: Site, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Neighbourhood]]:
    with ExitStack() as stack:

        def make(*, min_updates: int, address: str = "127.0.0.1", share: float = 1.0) -> Neighbourhood:
            name = request.node.name.removeprefix("test_").replace("_", "-")[:50]
            plan = {
                "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.01},
                "codec": {"kind": "float32"},
                "topology": {"kind": "supernodes", "wait_s": WAIT_S},
                "pace": {
                    "kind": "sync",
                    "target_updates": MEMBERS + 1,
                    "min_updates": min_updates,
                    "over_selection": 1,
                    "absent_s": 5,
                },
            }
            federation = site.operator.start_federation(name, pair=site.unused_pair(), plan=plan, rounds_wanted=1)
            token = site.operator.enrolment_token(tag=name, also=["site:hall-3"], uses=MEMBERS + 1)
            relay = f"processor_share = {share}\n{relay_settings(address)}"
            supernode = RealAgent(tmp_path / "supernode", site.url, token, settings=relay)
            members = [RealAgent(tmp_path / f"member-{number}", site.url, token) for number in range(MEMBERS)]
            for agent in (supernode, *members):
                stack.callback(agent.kill)
            return Neighbourhood(site, federation, supernode, members)

        yield make


def relay_settings(address: str = "127.0.0.1") -> str:
    """However busy this machine is, the supernode keeps its neighbours."""
    return f'[relay]\naddress = "{address}"\nport = {free_port()}\nmax_load = 1000.0\n'


def start(neighbourhood: Neighbourhood) -> None:
    """The round opens once the platform knows by which keys the devices know each other, and who offers to lead."""
    agents = (neighbourhood.supernode, *neighbourhood.members)
    for agent in agents:
        agent.set_conditions(UNPLUGGED)
        agent.start("relay" if agent is neighbourhood.supernode else "run")
    for agent in agents:
        device = f"/devices/{agent.id}/"
        eventually(lambda device=device: neighbourhood.site.operator.get(device)["capabilities"].get("peer_key"))
    for agent in agents:
        agent.set_conditions(READY)


@pytest.mark.long
def test_one_sum_comes_of_a_site_with_the_bits_of_a_star(
    new_neighbourhood: Callable[..., Neighbourhood],
) -> None:
    neighbourhood = new_neighbourhood(min_updates=MEMBERS + 1)
    start(neighbourhood)
    round_ = neighbourhood.published()
    routes = neighbourhood.routes()
    by_supernode = [route["device"] for route in routes["routes"] if route["supernode"] == neighbourhood.supernode.id]
    assert sorted(by_supernode) == sorted(member.id for member in neighbourhood.members)
    assert [(fold["state"], fold["updates"]) for fold in routes["folds"]] == [("accepted", MEMBERS)]
    assert round_["metrics"]["updates"] == MEMBERS + 1
    neighbourhood.assert_bits_of_a_star(round_)
    for agent in (neighbourhood.supernode, *neighbourhood.members):
        (outcome,) = eventually(lambda agent=agent: agent.status()["outcomes"])
        assert outcome["outcome"] == "accepted"


@pytest.mark.long
def test_a_supernode_that_is_killed_costs_no_update(new_neighbourhood: Callable[..., Neighbourhood]) -> None:
    """It is killed while it holds every neighbour's update; they count once, sent by the devices themselves."""
    neighbourhood = new_neighbourhood(min_updates=MEMBERS, share=0.0001)  # of its own it has no update by then
    start(neighbourhood)
    eventually(lambda: len(neighbourhood.held()) == MEMBERS)
    neighbourhood.supernode.kill()
    round_ = neighbourhood.published()
    delivered = [part["device"] for part in round_["assignments"] if part["state"] == "delivered"]
    assert sorted(delivered) == sorted(member.id for member in neighbourhood.members)
    assert round_["metrics"]["updates"] == MEMBERS
    assert {route["epoch"] for route in neighbourhood.routes()["routes"] if route["device"] in delivered} == {2}
    neighbourhood.assert_bits_of_a_star(round_)


@pytest.mark.long
def test_neighbours_that_do_not_reach_their_supernode_send_themselves(
    new_neighbourhood: Callable[..., Neighbourhood],
) -> None:
    neighbourhood = new_neighbourhood(min_updates=MEMBERS + 1, address="no-such-host.invalid")
    start(neighbourhood)
    round_ = neighbourhood.published()
    assert round_["metrics"]["updates"] == MEMBERS + 1
    routes = neighbourhood.routes()
    codes = {route["reason_code"] for route in routes["routes"] if route["device"] != neighbourhood.supernode.id}
    assert codes == {"route.supernode_away"}
    assert routes["folds"] == []
    neighbourhood.assert_bits_of_a_star(round_)


@pytest.mark.long
def test_sums_of_two_sites_meet_at_a_gateway(site: Site, tmp_path: Path) -> None:
    """Two levels: devices, supernodes of their sites, and one above."""
    name = "two-levels"
    each, places = 2, ("a", "b")
    devices = len(places) * (each + 1) + 1
    plan = {
        "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.01},
        "codec": {"kind": "float32"},
        "topology": {"kind": "supernodes", "wait_s": 30, "above": ["region:"]},
        "pace": {"kind": "sync", "target_updates": devices, "min_updates": devices, "over_selection": 1, "absent_s": 5},
    }
    federation = site.operator.start_federation(name, pair=site.unused_pair(), plan=plan, rounds_wanted=1)

    def token(*also: str) -> str:
        return site.operator.enrolment_token(tag=name, also=list(also), uses=devices)

    with ExitStack() as stack:
        gateway = RealAgent(tmp_path / "gateway", site.url, token("region:north"), settings=relay_settings())
        leaders, members = [], []
        for place in places:
            there = token(f"site:{place}", "region:north")
            leaders.append(RealAgent(tmp_path / f"leader-{place}", site.url, there, settings=relay_settings()))
            members += [RealAgent(tmp_path / f"member-{place}{number}", site.url, there) for number in range(each)]
        whole = Neighbourhood(site, federation, gateway, members)
        for agent in (gateway, *leaders, *members):
            stack.callback(agent.kill)
            agent.set_conditions(UNPLUGGED)
            agent.start("run" if agent in members else "relay")
        for agent in (gateway, *leaders, *members):
            device = f"/devices/{agent.id}/"
            eventually(lambda device=device: site.operator.get(device)["capabilities"].get("peer_key"))
        for agent in (gateway, *leaders, *members):
            agent.set_conditions(READY)
        round_ = whole.published()
        delivered = [part["device"] for part in round_["assignments"] if part["state"] == "delivered"]
        assert len(delivered) == len(set(delivered)) == round_["metrics"]["updates"]
        assert set(delivered) >= {member.id for member in members}
        ways = {(fold["state"], fold["way_code"]) for fold in whole.routes()["folds"]}
        assert ("accepted", "fold.top") in ways
        whole.assert_bits_of_a_star(round_, also=[agent.home for agent in leaders])
