"""Supernodes against a star with real agents: what leaves three sites of eight by a line of 8 Mbit/s, and a kill.

Network namespaces with shaped links, so for root on Linux with `tc`. Each agent is a process of its own in a namespace
of its own, on a real platform; their processes are forks of one that has loaded the agent, for this machine has no room
for 24 starts. Bytes are counted at the router of each site, everything from a federation's start to its new version:
updates, sums, messages, sockets, acknowledgements of what comes down, headers. A second of the line is 1 MB. Each
version is compared with the one that its updates make when they are merged flat, of the files that the round has left.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from tests.benchmarks.report import Figure
from tests.nat.forking import ForkedAgent, Forks
from tests.nat.network import SERVER
from tests.nat.sites import HEADER_BYTES, Sent, Sites, why_no_sites
from tests.system.eventually import eventually
from tests.system.flat_merge import flat_version, update_files
from tests.system.model import samples, spec_with
from tests.system.operator_client import Json, OperatorClient
from tests.system.processes import Platform, prepare_state
from tests.system.real_agent import READY, UNPLUGGED

SITES, EACH, SIDE = 3, 8, 160
UPLINK_BITS_S = 8_000_000
SAMPLES = 16
RELAY = "[relay]\nmax_load = 10000.0\n"
ROUND_S = 420.0
SETTLES_S = 5.0
"""After a round, so that nothing of it is on the lines any more."""
KILLED = "killed"


class Way(NamedTuple):
    """A federation that is measured."""

    codec: str
    topology: str

    @property
    def name(self) -> str:
        return f"{self.topology}-{self.codec}"


CODECS: Mapping[str, Codec] = {"int8": Int8(), "float32": Float32Codec()}
WAYS = [Way(codec, topology) for codec in CODECS for topology in ("star", "supernodes")]
TARGETS = {
    "int8": "target <= 0.30x",
    "float32": "target <= 0.07x",
}


class Parts(NamedTuple):
    """Of what has left a site in a round, in bytes; the mean of the sites."""

    updates: float
    """Which went to the platform themselves."""
    sums: float
    headers: float
    """Of all packets, also of those that carry nothing but acknowledgements."""
    messages: float
    """The rest: check-ins and other messages, with the framing of HTTP and sockets."""


class Fleet:
    """The platform, the lines and the agents."""

    def __init__(self, stack: ExitStack) -> None:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sites-")))
        self.state = directory / "platform"
        seeded = prepare_state(directory / "made", pairs=len(WAYS) + 1, side=SIDE, state=str(self.state))
        self.sites = stack.enter_context(Sites(SITES, EACH, uplink_bits_s=UPLINK_BITS_S))
        stack.enter_context(self.sites.in_net())
        platform = Platform(self.state, host=SERVER)
        stack.callback(platform.stop)
        platform.start()
        self.operator = stack.enter_context(OperatorClient(platform.url, seeded.token))
        self._pairs = iter(seeded.pairs)
        forks = Forks()
        stack.callback(forks.close)
        self.agents: list[list[ForkedAgent]] = [[] for _ in self.sites.names]
        tags = [*(way.name for way in WAYS), KILLED]
        for site, agents in enumerate(self.agents):
            token = self.operator.enrolment_token(also=[*tags, f"site:{site}"], uses=EACH)
            for device in range(EACH):
                agent = ForkedAgent(
                    directory / f"agent-{site}-{device}",
                    platform.url,
                    token,
                    forks=forks,
                    namespace=self.sites.namespace(site, device),
                    learns=samples(SAMPLES, seed=EACH * site + device, side=SIDE),
                    settings=RELAY if device == 0 else "",
                )
                stack.callback(agent.kill)
                agents.append(agent)
        for agent in self.all:
            agent.set_conditions(UNPLUGGED)
            agent.start("relay" if agent in self.supernodes else "run")
        for agent in self.all:
            eventually(lambda agent=agent: self._knows(agent), within_s=ROUND_S)  # type: ignore[misc]
        for agent in self.all:
            agent.set_conditions(READY)

    @property
    def all(self) -> list[ForkedAgent]:
        return [agent for agents in self.agents for agent in agents]

    @property
    def supernodes(self) -> list[ForkedAgent]:
        return [agents[0] for agents in self.agents]

    def settle(self) -> None:
        """Wait until every agent is ready for a round, and has told the platform."""
        for agent in self.all:
            eventually(lambda agent=agent: self.operator.get(f"/devices/{agent.id}/")["ready"], within_s=ROUND_S)  # type: ignore[misc]
        time.sleep(SETTLES_S)

    def begin(self, name: str, *, codec: str, topology: str, spared: int = 0) -> str:
        """A federation of one round of all devices, of which it spares so many that go away."""
        devices = SITES * EACH
        plan = {
            "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.01},
            "codec": {"kind": codec},
            "topology": {"kind": topology},
            "pace": {
                "kind": "sync",
                "target_updates": devices,
                "min_updates": devices - spared,
                "over_selection": 1,
                "deadline_s": 2 * ROUND_S,
                "absent_s": 5 if spared else ROUND_S,
            },
        }
        return self.operator.start_federation(name, pair=next(self._pairs), plan=plan, rounds_wanted=1)

    def ended(self, federation: str) -> Json:
        round_ = self.operator.ended_round(federation, 1, within_s=ROUND_S)
        assert round_["state"] == "published", round_["reason_sentence"]
        return round_

    def ways(self, federation: str) -> Json:
        """By what way each update goes, and the sums; none before the round is planned."""
        round_ = self.operator.round(federation, 1)
        return self.operator.get(f"/rounds/{round_['id']}/routes/") if round_ else {"routes": [], "folds": []}

    def is_flat(self, round_: Json, codec: str) -> bool:
        """Whether the version has the bits that all updates make at once."""
        files = update_files(self.state, [agent.home for agent in self.supernodes])
        version = self.operator.get(f"/versions/{round_['result_version']}/")
        found: bool = version["parameters"] == flat_version(round_, files, codec=CODECS[codec], spec=spec_with(SIDE))
        return found

    def _knows(self, agent: ForkedAgent) -> bool:
        told = self.operator.get(f"/devices/{agent.id}/")["capabilities"]
        return bool(told.get("peer_key")) and (agent not in self.supernodes or bool(told.get("relay")))


def measure() -> list[Figure]:
    if why := why_no_sites():
        raise SystemExit(f"benchmark sites: {why}")
    with ExitStack() as stack:
        fleet = Fleet(stack)
        return [*_long_haul(fleet), *_kill(fleet)]


def _long_haul(fleet: Fleet) -> Iterator[Figure]:
    sent: dict[Way, float] = {}
    for way in WAYS:
        fleet.settle()
        before, began = fleet.sites.sent(), time.monotonic()
        federation = fleet.begin(way.name, codec=way.codec, topology=way.topology)
        round_ = fleet.ended(federation)
        took_s = time.monotonic() - began
        by_site = [after.since(first) for after, first in zip(fleet.sites.sent(), before, strict=True)]
        sent[way] = sum(one.size_bytes for one in by_site) / SITES
        case = f"{SITES} sites of {EACH} agents, {way.codec}, {way.topology}"
        yield Figure(case, "updates in the version", float(round_["metrics"]["updates"]), f"of {SITES * EACH}")
        ways = fleet.ways(federation)
        by_sums = sum(route["supernode"] is not None for route in ways["routes"])
        why = ", ".join(sorted({route["reason_code"] for route in ways["routes"] if route["supernode"] is None}))
        yield Figure(case, "of them in sums", float(by_sums), "updates", f"the others: {why or '-'}")
        yield Figure(
            case, "versions with other bits than a flat merge", float(not fleet.is_flat(round_, way.codec)), "of 1"
        )
        yield Figure(case, "bytes out of a site", sent[way] / 1e3, "kB")
        for name, size_bytes in _parts(round_, ways, by_site)._asdict().items():
            yield Figure(case, f"of them {name}", size_bytes / 1e3, "kB")
        busiest = max(one.size_bytes for one in by_site)
        yield Figure(case, "busiest line", 8 * busiest / UPLINK_BITS_S, "s", f"{UPLINK_BITS_S / 1e6:g} Mbit/s")
        yield Figure(case, "whole round", took_s, "s", "most of it waits for processors")
    for codec, target in TARGETS.items():
        star, tree = sent[Way(codec, "star")], sent[Way(codec, "supernodes")]
        case = f"{EACH} agents a site, {codec}"
        yield Figure(case, "bytes and time of the line", tree / star, "x of a star's", target, star / tree)


def _parts(round_: Json, ways: Json, by_site: Sequence[Sent]) -> Parts:
    """By the sizes of the files, and the number of packets."""
    summed = {route["device"] for route in ways["routes"] if route["supernode"] is not None}
    delivered = [part for part in round_["assignments"] if part["delivered"]]
    updates = sum(part["delivered"]["size_bytes"] for part in delivered if part["device"] not in summed) / SITES
    sums = sum(fold["size_bytes"] for fold in ways["folds"]) / SITES
    headers = HEADER_BYTES * sum(one.packets for one in by_site) / SITES
    whole = sum(one.size_bytes for one in by_site) / SITES
    return Parts(updates, sums, headers, whole - updates - sums - headers)


def _kill(fleet: Fleet) -> Iterator[Figure]:
    """A supernode dies that holds its neighbours' updates, when no other device has anything left to send."""
    supernode, members = fleet.agents[0][0], {agent.id for agent in fleet.agents[0][1:]}
    supernode.kill()
    settings = supernode.home / "agent.toml"
    settings.write_text(f"processor_share = 0.0001\n{settings.read_text(encoding='utf-8')}", encoding="utf-8")
    supernode.start("relay")
    eventually(lambda: supernode.log().count("in contact with the platform") > 1, within_s=ROUND_S)
    federation = fleet.begin(KILLED, codec="int8", topology="supernodes", spared=1)

    def is_held() -> bool:
        held = {route["device"] for route in fleet.ways(federation)["routes"] if route["held_at"]}
        round_ = fleet.operator.round(federation, 1)
        own = {part["device"] for part in round_["assignments"] if part["state"] == "delivered"} if round_ else set()
        return members <= held and len(held | own) >= SITES * EACH - 1

    eventually(is_held, within_s=ROUND_S)
    killed_at = time.monotonic()
    supernode.kill()

    def is_missed() -> bool:
        return not any(route["supernode"] == supernode.id for route in fleet.ways(federation)["routes"])

    eventually(is_missed, within_s=ROUND_S)
    found_s = time.monotonic() - killed_at
    round_ = fleet.ended(federation)
    took_s = time.monotonic() - killed_at
    case = f"a supernode of {EACH - 1} is killed"
    counted = f"of {SITES * EACH}, {SITES * EACH - 1} of them of agents that live"
    yield Figure(case, "updates in the version", float(round_["metrics"]["updates"]), counted)
    yield Figure(case, "versions with other bits than a flat merge", float(not fleet.is_flat(round_, "int8")), "of 1")
    yield Figure(case, "until its neighbours are told to send themselves", found_s, "s")
    yield Figure(case, "until the version", took_s, "s", "target <= 15 s", 15 / took_s)
