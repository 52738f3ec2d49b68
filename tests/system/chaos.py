"""A platform in scaled mode and real agents, disturbed at random; afterwards nothing may show that they were."""

import hashlib
import heapq
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from coterie_wire.tensors import Tensors, encode_tensors
from tests.system.cluster import Cluster, Node, Web
from tests.system.eventually import eventually
from tests.system.line import Line
from tests.system.model import tensors
from tests.system.operator_client import OperatorClient
from tests.system.processes import prepare_state
from tests.system.real_agent import RealAgent
from tests.system.undisturbed import learned_by, undisturbed

PLAN: Mapping[str, object] = {
    "local": {"kind": "sgd", "epochs": 25, "learning_rate": 0.002},
    "merge": {"kind": "fed_adam"},
    "codec": {"kind": "int8"},
}
"""With a state on each device, what its codec has rounded off, and one on the platform, the moments of Adam."""
DOWN_S = (0.0, 3.0)
"""How long what was killed is away."""
AWAY_S = (0.5, 6.0)
"""How long a line is cut, or a process stands still."""
STOPPED = 0.25
"""Share of the faults of a process that leave it, but stop it: its leases end, and it does not know."""
STARTED_S = 120.0
SETTLED_S = 240.0
"""After the last fault has passed, the round that was under way and one more have ended by then."""
Mend = Callable[[], None]
# Any: a few fields of what the platform answers are read.
Json = dict[str, Any]


class Outcome(NamedTuple):
    """What was done to the system, and what came of it."""

    faults: Mapping[str, int]
    """By what they were."""
    seconds: float
    rounds: int
    """That were published, one after the other, each with every device's update in it once."""
    lost: int
    """Updates that are missing in the rounds that were published."""
    doubled: int
    """Updates that count more than once."""
    abandoned: int
    """Rounds that ended without a version."""
    different: int
    """Versions that have not the bits of those that nothing disturbed."""


class System:
    """Two processes of each sort, and agents of which one half knows the one web process, the other half the other."""

    def __init__(self, cluster: Cluster, lines: Mapping[str, Line], webs: list[Web], directory: Path) -> None:
        self.cluster, self.lines, self.webs, self._directory = cluster, dict(lines), webs, directory
        self.nodes: dict[str, list[Node]] = {
            "web process": [*webs],
            "worker": [cluster.worker(), cluster.worker()],
            "beat": [cluster.beat(), cluster.beat()],
        }
        self.agents: list[RealAgent] = []
        self._disturbed: set[str] = set()

    def join(self, running: ExitStack, operator: OperatorClient, name: str, agents: int) -> None:
        """Give the federation of that name its agents, which then run."""
        token = operator.enrolment_token(tag=name, uses=agents)
        for number in range(agents):
            url = f"http://127.0.0.1:{self.lines[f'agents, {number % len(self.webs)}'].port}"
            agent = RealAgent(self._directory / f"agent-{number}", url, token, learns=learned_by(number))
            running.callback(agent.kill)
            self.agents.append(agent)
        for agent in self.agents:
            agent.start()

    def fault(self, moments: random.Random) -> "Fault":
        """What happens next, to something that no other fault has yet; it has happened when this returns."""
        targets = {
            **{f"agent {number}": agent for number, agent in enumerate(self.agents)},
            **{f"{sort} {number}": node for sort, nodes in self.nodes.items() for number, node in enumerate(nodes)},
            **{f"line of {name}": line for name, line in self.lines.items()},
        }
        name = moments.choice([name for name in sorted(targets) if name not in self._disturbed])
        self._disturbed.add(name)
        what, lasts_s, mend = _happen(targets[name], moments)
        sort = name if what == "cut" else name.rpartition(" ")[0]

        def ended() -> None:
            mend()
            self._disturbed.remove(name)

        return Fault(f"{what}: {sort}", lasts_s, ended)


class Fault(NamedTuple):
    """One that has happened."""

    name: str
    lasts_s: float
    mend: Mend
    """Ends it."""


def _happen(target: RealAgent | Node | Line, moments: random.Random) -> Fault:
    if isinstance(target, Line):
        target.cut()
        return Fault("cut", moments.uniform(*AWAY_S), target.mend)
    process = target.process() if isinstance(target, RealAgent) else target.process
    if moments.random() < STOPPED:
        process.suspend()
        return Fault("stopped", moments.uniform(*AWAY_S), process.resume)
    target.kill()
    return Fault("killed", moments.uniform(*DOWN_S), target.start)


@contextmanager
def system(database: str, broker: str, directory: Path) -> Iterator[tuple[System, str, str]]:
    """A running one without agents, an operator's token, and a model pair."""
    with ExitStack() as running:
        lines = {"PostgreSQL": Line(5432), "Redis": Line(6379)}
        settings = {
            "mode": "scaled",
            "state": str(directory / "state"),
            "database_url": database,
            "redis_url": broker,
            "secret_key": secrets.token_hex(32),
            "signing_key": secrets.token_hex(32),
        }
        seeded = prepare_state(directory / "seed", pairs=1, **settings)
        settings["database_url"] = database.replace(":5432", f":{lines['PostgreSQL'].port}")
        settings["redis_url"] = broker.replace(":6379", f":{lines['Redis'].port}")
        cluster = Cluster(settings, directory, running)
        webs = [cluster.web(), cluster.web()]
        lines |= {f"agents, {number}": Line(web.port) for number, web in enumerate(webs)}
        for line in lines.values():
            running.enter_context(line)
        made = System(cluster, lines, webs, directory)
        for web in webs:
            eventually(web.answers, within_s=STARTED_S)
        yield made, seeded.token, seeded.pairs[0]


def disturb(
    database: str,
    broker: str,
    directory: Path,
    *,
    agents: int,
    faults: int,
    every_s: float,
    seed: int,
    tell: Callable[[str], None] = lambda _line: None,
) -> Outcome:
    """Let `agents` learn while that many faults happen, one each `every_s` seconds on the mean, and look afterwards.

    The faults follow from `seed`; when each meets the system does not. Raises AssertionError where the system does not
    go on by itself when the last has passed.
    """
    moments = random.Random(seed)
    with system(database, broker, directory) as (disturbed, token, pair), ExitStack() as running:
        operator = running.enter_context(OperatorClient(disturbed.webs[0].url, token))
        pace = {"kind": "sync", "target_updates": agents, "min_updates": agents, "over_selection": 1, "pause_s": 0}
        plan = {**PLAN, "pace": pace}
        federation = operator.start_federation("chaos", pair=pair, plan=plan)
        disturbed.join(running, operator, "chaos", agents)
        operator.ended_round(federation, 1, within_s=120)
        began, done = time.monotonic(), Counter[str]()
        pending: list[tuple[float, int, Mend]] = []
        for number in range(faults):
            fault = disturbed.fault(moments)
            done[fault.name] += 1
            tell(f"{number + 1} of {faults}: {fault.name}, {fault.lasts_s:.1f} s")
            heapq.heappush(pending, (time.monotonic() + fault.lasts_s, number, fault.mend))
            _mend(pending, until=time.monotonic() + moments.expovariate(1 / every_s))
        _mend(pending, until=None)
        seconds = time.monotonic() - began
        tell("all faults have passed")
        _settled(operator, federation)
        operator.post(f"/federations/{federation}/finish/")
        return _outcome(database, federation, plan, [agent.id for agent in disturbed.agents], done, seconds)


def _mend(pending: list[tuple[float, int, Mend]], *, until: float | None) -> None:
    """End what is due until then, or all."""
    while pending and (until is None or pending[0][0] <= until):
        due, _, mend = heapq.heappop(pending)
        time.sleep(max(0.0, due - time.monotonic()))
        mend()
    if until is not None:
        time.sleep(max(0.0, until - time.monotonic()))


def _settled(operator: OperatorClient, federation: str) -> None:
    """Wait until the round that is under way and the next have ended."""

    def newest() -> int:
        rounds = operator.list("/rounds/", federation=federation, state="published", sort="-number")
        return int(rounds[0]["number"])

    wanted = eventually(newest) + 2
    eventually(lambda: newest() >= wanted, within_s=SETTLED_S)


def _outcome(
    database: str,
    federation: str,
    plan: Mapping[str, object],
    devices: list[str],
    faults: Counter[str],
    seconds: float,
) -> Outcome:
    """Read from the tables what happened, and compare the versions with those of `undisturbed`."""
    with psycopg.connect(database) as tables:
        (seed,) = _row(tables, "SELECT seed FROM federations_federation WHERE id = %s", federation)
        (abandoned,) = _row(
            tables, "SELECT count(*) FROM rounds_round WHERE federation_id = %s AND state = 'abandoned'", federation
        )
        rounds = tables.execute(
            "SELECT round.number, parameters_id, (SELECT count(*) FROM merging_update WHERE merge_id = merge.id),"
            " (SELECT count(DISTINCT device_id) FROM merging_update WHERE merge_id = merge.id)"
            " FROM rounds_round round JOIN merging_merge merge ON merge.id = round.merge_id"
            " JOIN registry_modelversion version ON version.id = merge.result_version_id"
            " WHERE round.federation_id = %s AND round.state = 'published' ORDER BY round.number",
            [federation],
        ).fetchall()
    wanted = undisturbed(plan, tensors(0), seed, devices, rounds=len(rounds))
    return Outcome(
        faults=dict(faults),
        seconds=seconds,
        rounds=len(rounds),
        lost=sum(max(0, len(devices) - distinct) for _, _, _, distinct in rounds),
        doubled=sum(count - distinct for _, _, count, distinct in rounds),
        abandoned=abandoned,
        different=sum(sha256 != _sha256(version) for (_, sha256, _, _), version in zip(rounds, wanted, strict=True)),
    )


def _row(tables: "psycopg.Connection[tuple[Any, ...]]", query: str, federation: str) -> tuple[Any, ...]:
    row = tables.execute(query, [federation]).fetchone()
    assert row is not None
    return row


def _sha256(version: Tensors) -> str:
    return hashlib.sha256(encode_tensors(version)).hexdigest()
