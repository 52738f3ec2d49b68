"""Random trees of real agents, with random kills: the version of each is compared with a flat merge of its updates.

The agents stay the same; between two trees they get other tags, and others of them offer to be supernodes, so that the
platform plans another tree. Moments of a round are counted by updates that have arrived, however slow the machine is.
"""

import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

from coterie_learning.codec.float32 import Float32Codec
from tests.system.eventually import eventually
from tests.system.flat_merge import flat_version, update_files
from tests.system.model import samples
from tests.system.operator_client import Json, OperatorClient
from tests.system.real_agent import RealAgent
from tests.system.test_supernodes import relay_settings

AGENTS = 8
SITES, REGIONS = 2, 2
FEWEST_OF_A_SITE = 3
MOST_KILLS = 2
WAIT_S, ABSENT_S = 5.0, 5.0
ROUND_S = 300.0
RETURNS_S = 3.0
"""At most, after a kill."""
LOOK_S = 0.2


class Kill(NamedTuple):
    """A device that dies."""

    arrived: int
    """Once so many updates are held by supernodes or have come to the platform."""
    leads: bool
    """One that is a supernode then, where there is one."""
    choice: float
    """Which of them, as a share."""
    returns_s: float | None
    """After so long; None: once the round is over."""


class Tree(NamedTuple):
    """Which tags each agent has, and what fails."""

    tags: Sequence[Sequence[str]]
    leads: Sequence[bool]
    """Whether it offers to be a supernode."""
    kills: Sequence[Kill]

    @classmethod
    def drawn(cls, seed: int) -> Self:
        """Of a seed; sites of several sizes, in regions or beside them, and devices without a site."""
        rng = random.Random(f"live tree {seed}")
        regions = [rng.choice(("region:0", "region:1", "")) for _ in range(SITES)]
        sites = [rng.choice((*range(SITES), *range(SITES), None)) for _ in range(AGENTS)]
        own = [[rng.choice(regions)] if site is None else [f"site:{site}", regions[site]] for site in sites]
        leads = [site is None and rng.random() < 0.7 for site in sites]
        for site in range(SITES):
            members = [number for number, place in enumerate(sites) if place == site]
            if len(members) >= FEWEST_OF_A_SITE:
                for number in rng.sample(members, rng.randint(1, len(members) - 2)):
                    leads[number] = True
        tags = [[tag for tag in one if tag] for one in own]
        kills = [
            Kill(
                arrived=rng.randrange(AGENTS),
                leads=rng.random() < 0.7,
                choice=rng.random(),
                returns_s=rng.choice((None, rng.uniform(0.0, RETURNS_S))),
            )
            for _ in range(rng.randint(0, MOST_KILLS))
        ]
        return cls(tags, leads, sorted(kills, key=lambda kill: kill.arrived))


@dataclass
class Held:
    """What became of a tree."""

    published: bool
    reason: str
    same_bits: bool = False
    lost: frozenset[str] = frozenset()
    """Devices that were there all the time, and are not in the version."""
    twice: int = 0
    """Updates that the version counts beside the first of each device."""
    killed: int = 0
    killed_leaders: int = 0
    sums: int = 0
    """That were taken."""
    summed_again: int = 0
    """Of them, those that met others at a supernode above."""
    whys: Sequence[str] = ()
    """Codes of the ways that updates went."""
    rerouted: int = 0
    """Updates that went another way than the first that was planned for them."""
    problems: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        told = {
            f"it was not published: {self.reason}": not self.published,
            "its version has other bits than a star's": self.published and not self.same_bits,
            f"updates of {sorted(self.lost)} are lost": bool(self.lost),
            f"{self.twice} updates count twice": bool(self.twice),
        }
        self.problems = [problem for problem, is_so in told.items() if is_so]


class LiveTrees:
    """A platform's operator, and the agents."""

    def __init__(
        self,
        stack: ExitStack,
        operator: OperatorClient,
        *,
        url: str,
        state: Path,
        pairs: Iterator[str],
        directory: Path,
    ) -> None:
        """`state` is the platform's, `directory` takes the agents' homes."""
        self._operator, self._state, self._pairs = operator, state, pairs
        self._kept = directory / "kept"
        self._kept.mkdir()
        token = operator.enrolment_token(uses=AGENTS)
        self._agents = [
            RealAgent(
                directory / f"agent-{number}",
                url,
                token,
                learns=samples(16 + 8 * number, seed=number),
                settings=relay_settings(),
            )
            for number in range(AGENTS)
        ]
        self._roles: dict[str, bool] = {}
        """By agent that runs, whether it offers to be a supernode."""
        for agent in self._agents:
            stack.callback(agent.kill)

    def hold(self, seed: int, *, name: str) -> Held:
        """A round of the tree of `seed`, in a federation of this name."""
        tree = Tree.drawn(seed)
        for agent, tags, leads in zip(self._agents, tree.tags, tree.leads, strict=True):
            self._operator.patch(f"/devices/{agent.id}/", {"tags": [name, *tags]})
            if self._roles.get(agent.id) != leads:
                agent.kill()
                self._start(agent, leads)
        for agent in self._agents:
            eventually(lambda agent=agent: self._is_there(agent), within_s=ROUND_S)  # type: ignore[misc]
        plan = {
            "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.01},
            "codec": {"kind": "float32"},
            "topology": {"kind": "supernodes", "wait_s": WAIT_S, "above": ["region:"]},
            "pace": {
                "kind": "sync",
                "target_updates": AGENTS,
                "min_updates": AGENTS - len(tree.kills),
                "over_selection": 1,
                "absent_s": ABSENT_S,
            },
        }
        federation = self._operator.start_federation(name, pair=next(self._pairs), plan=plan, rounds_wanted=1)
        killed, leaders = self._fail(federation, tree)
        round_ = self._operator.ended_round(federation, 1, within_s=ROUND_S)
        self._keep()
        if round_["state"] != "published":
            self._operator.post(f"/federations/{federation}/finish/")
        return self._judged(round_, killed, leaders)

    def _fail(self, federation: str, tree: Tree) -> tuple[set[str], int]:
        """Kill as the tree says until its round has ended; who was killed, and how many of them led."""
        left, killed, leaders = list(tree.kills), set[str](), 0
        returning: list[tuple[float, RealAgent]] = []
        until = time.monotonic() + ROUND_S
        while time.monotonic() < until:
            round_ = self._operator.round(federation, 1)
            if round_ is not None and round_["state"] in ("published", "abandoned"):
                break
            self._keep()
            ways = self._operator.get(f"/rounds/{round_['id']}/routes/") if round_ else {"routes": [], "folds": []}
            for at, agent in [one for one in returning if one[0] <= time.monotonic()]:
                self._start(agent, tree.leads[self._agents.index(agent)])
                returning.remove((at, agent))
            if round_ is not None and left and left[0].arrived <= _arrived(round_, ways):
                kill = left.pop(0)
                agent, leads = self._victim(kill, ways, killed)
                agent.kill()
                del self._roles[agent.id]
                killed.add(agent.id)
                leaders += leads
                if kill.returns_s is not None:
                    returning.append((time.monotonic() + kill.returns_s, agent))
            time.sleep(LOOK_S)
        return killed, leaders

    def _victim(self, kill: Kill, ways: Json, killed: set[str]) -> tuple[RealAgent, bool]:
        """One that was not killed before, and whether it leads."""
        living = [agent for agent in self._agents if agent.id not in killed]
        leading = {route["supernode"] for route in ways["routes"] if route["supernode"]}
        leaders = [agent for agent in living if agent.id in leading]
        chosen = leaders if kill.leads and leaders else living
        found = chosen[int(kill.choice * len(chosen))]
        return found, found.id in leading

    def _judged(self, round_: Json, killed: set[str], leaders: int) -> Held:
        if round_["state"] != "published":
            return Held(False, f"{round_['state']}, {round_['reason_sentence']}", killed=len(killed))
        delivered = [part["device"] for part in round_["assignments"] if part["state"] == "delivered"]
        ways = self._operator.get(f"/rounds/{round_['id']}/routes/")
        version = self._operator.get(f"/versions/{round_['result_version']}/")
        accepted = [fold for fold in ways["folds"] if fold["state"] == "accepted"]
        expected = {agent.id for agent in self._agents} - killed
        return Held(
            True,
            "",
            same_bits=version["parameters"] == flat_version(round_, self._kept.iterdir(), codec=Float32Codec()),
            lost=frozenset(expected - set(delivered)),
            twice=int(round_["metrics"]["updates"]) - len(set(delivered)),
            killed=len(killed),
            killed_leaders=leaders,
            sums=len(accepted),
            summed_again=sum(fold["way_code"] == "fold.top" for fold in accepted),
            whys=sorted({str(route["reason_code"]) for route in ways["routes"]}),
            rerouted=sum(route["epoch"] > 1 for route in ways["routes"]),
        )

    def _keep(self) -> None:
        """Of every update that lies somewhere, another name: shelves are emptied when a round is over."""
        for path in update_files(self._state, [agent.home for agent in self._agents]):
            try:
                stat = path.stat()
                os.link(path, self._kept / f"{stat.st_dev}-{stat.st_ino}")
            except (FileNotFoundError, FileExistsError):
                continue

    def _start(self, agent: RealAgent, leads: bool) -> None:
        agent.start("relay" if leads else "run")
        self._roles[agent.id] = leads

    def _is_there(self, agent: RealAgent) -> bool:
        """Whether the platform knows it as it is now, and could ask it for an update."""
        device = self._operator.get(f"/devices/{agent.id}/")
        told = device["capabilities"]
        return device["ready"] and bool(told.get("peer_key")) and bool(told.get("relay")) == self._roles[agent.id]


def _arrived(round_: Json, ways: Json) -> int:
    held = {route["device"] for route in ways["routes"] if route["held_at"]}
    return len(held | {part["device"] for part in round_["assignments"] if part["state"] == "delivered"})
