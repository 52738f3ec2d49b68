"""A platform in scaled mode and real agents, disturbed at random; afterwards nothing may show that they were.

Processes are killed and stopped, lines cut, clocks stepped and disks filled, and where the platform keeps its files in
an object storage, that fails and is slow.
"""

import hashlib
import heapq
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from coterie_wire.tensors import Tensors, encode_tensors
from tests.object_storage import swift
from tests.object_storage.broken_line import BrokenLine
from tests.object_storage.broken_line import Fault as StorageFault
from tests.system.cluster import Cluster, Node, Web
from tests.system.eventually import eventually
from tests.system.line import Line
from tests.system.model import tensors
from tests.system.operator_client import OperatorClient
from tests.system.processes import environment, prepare_state
from tests.system.real_agent import RealAgent
from tests.system.surroundings import Surroundings, compiled
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
"""How long a line is cut, a disk full, an object storage broken, or a process stands still."""
WRONG_S = (2.0, 20.0)
"""How long a clock is wrong."""
STEPS_S = (10.0, 3600.0)
"""By how much, forward or back; each size between the two is as likely as its double."""
STORAGE_FAULTS: tuple[StorageFault, ...] = ("error", "cut", "silence", "slow")
DEADLINE_S = 30 * 86_400.0
"""Of a round: a clock that is ahead shall not end one."""
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
    why: Mapping[str, int]
    """For what reasons, by code."""
    different: int
    """Versions that have not the bits of those that nothing disturbed; all after a round that was abandoned."""


class System:
    """Two processes of each sort, and agents of which one half knows the one web process, the other half the other."""

    def __init__(
        self,
        cluster: Cluster,
        lines: Mapping[str, Line],
        webs: list[Web],
        storage: BrokenLine | None,
        surroundings: "AllSurroundings",
        directory: Path,
    ) -> None:
        """`storage`: where the platform keeps its files; None: in a directory that its processes share."""
        self.lines, self.webs, self._storage, self._directory = dict(lines), webs, storage, directory
        self._surroundings = surroundings
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
            home = self._directory / f"agent-{number}"
            variables = {**environment(), **self._surroundings.variables_of(home)}
            agent = RealAgent(home, url, token, learns=learned_by(number), variables=variables)
            running.callback(agent.kill)
            self.agents.append(agent)
        for agent in self.agents:
            agent.start()

    def fault(self, moments: random.Random) -> "Fault":
        """What happens next, to something that no other fault has yet; it has happened when this returns."""
        free = [{name: way for name, way in ways.items() if name not in self._disturbed} for ways in self._ways()]
        name, happen = moments.choice(sorted(moments.choice([ways for ways in free if ways]).items()))
        self._disturbed.add(name)
        what, lasts_s, mend = happen(moments)

        def ended() -> None:
            mend()
            self._disturbed.remove(name)

        return Fault(what, lasts_s, ended)

    def _ways(self) -> list[dict[str, "Way"]]:
        """How each thing can be disturbed, by its name; each sort of fault is as likely as another."""
        nodes = {f"{sort} {number}": node for sort, nodes in self.nodes.items() for number, node in enumerate(nodes)}
        agents = {f"agent {number}": agent for number, agent in enumerate(self.agents)}
        around_nodes = {name: self._surroundings.of(node.directory) for name, node in nodes.items()}
        around_agents = {name: self._surroundings.of(agent.home) for name, agent in agents.items()}
        processes: dict[str, RealAgent | Node] = {**nodes, **agents}
        ways: list[dict[str, Way]] = [
            {name: partial(_end_or_stop, _sort(name), one) for name, one in processes.items()},
            {f"line of {name}": partial(_cut, name, line) for name, line in self.lines.items()},
            {
                f"clock of {name}": partial(_step_clock, _sort(name), one)
                for name, one in {**around_nodes, **around_agents}.items()
            },
            {
                "disk of the platform": partial(_fill_disk, "platform", [*around_nodes.values()]),
                **{f"disk of {name}": partial(_fill_disk, "agent", [one]) for name, one in around_agents.items()},
            },
        ]
        if self._storage is not None:
            ways.append({"object storage": partial(_break_storage, self._storage)})
        return ways


class AllSurroundings:
    """The clock and the disk of each machine, by the directory that stands for it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._library = compiled(directory)
        self._made: dict[Path, Surroundings] = {}

    def variables_of(self, machine: Path) -> Mapping[str, str]:
        """What the environment of that machine's processes has besides."""
        return self.of(machine).variables

    def of(self, machine: Path) -> Surroundings:
        """Those of that machine, from now on."""
        if machine not in self._made:
            self._made[machine] = Surroundings(self._library, self._directory / f"{machine.name}.surroundings")
        return self._made[machine]


class Fault(NamedTuple):
    """One that has happened."""

    name: str
    lasts_s: float
    mend: Mend
    """Ends it."""


Way = Callable[[random.Random], Fault]


def _sort(name: str) -> str:
    return name.rpartition(" ")[0]


def _end_or_stop(sort: str, target: RealAgent | Node, moments: random.Random) -> Fault:
    process = target.process() if isinstance(target, RealAgent) else target.process
    if moments.random() < STOPPED:
        process.suspend()
        return Fault(f"stopped: {sort}", moments.uniform(*AWAY_S), process.resume)
    target.kill()
    return Fault(f"killed: {sort}", moments.uniform(*DOWN_S), target.start)


def _cut(name: str, line: Line, moments: random.Random) -> Fault:
    line.cut()
    return Fault(f"cut: line of {name}", moments.uniform(*AWAY_S), line.mend)


def _step_clock(sort: str, around: Surroundings, moments: random.Random) -> Fault:
    least, most = STEPS_S
    size_s = least * (most / least) ** moments.random()
    direction = moments.choice((1, -1))
    around.step_clock(direction * size_s)
    what = f"clock set {'ahead' if direction > 0 else 'back'}: {sort}"
    return Fault(what, moments.uniform(*WRONG_S), partial(around.step_clock, 0))


def _fill_disk(sort: str, around: Sequence[Surroundings], moments: random.Random) -> Fault:
    def fill(*, full: bool) -> None:
        for each in around:
            each.fill_disk(full=full)

    fill(full=True)
    return Fault(f"disk full: {sort}", moments.uniform(*AWAY_S), partial(fill, full=False))


def _break_storage(storage: BrokenLine, moments: random.Random) -> Fault:
    what = moments.choice(STORAGE_FAULTS)
    storage.break_all(what)
    return Fault(f"object storage: {what}", moments.uniform(*AWAY_S), storage.mend)


@contextmanager
def system(
    database: str, broker: str, directory: Path, storage: BrokenLine | None
) -> Iterator[tuple[System, str, str]]:
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
            **({} if storage is None else _in_objects(storage)),
        }
        seeded = prepare_state(directory / "seed", pairs=1, **settings)
        settings["database_url"] = database.replace(":5432", f":{lines['PostgreSQL'].port}")
        settings["redis_url"] = broker.replace(":6379", f":{lines['Redis'].port}")
        surroundings = AllSurroundings(directory)
        cluster = Cluster(settings, directory, running, surroundings.variables_of)
        webs = [cluster.web(), cluster.web()]
        lines |= {f"agents, {number}": Line(web.port) for number, web in enumerate(webs)}
        for line in lines.values():
            running.enter_context(line)
        made = System(cluster, lines, webs, storage, surroundings, directory)
        for web in webs:
            eventually(web.answers, within_s=STARTED_S)
        yield made, seeded.token, seeded.pairs[0]


def _in_objects(storage: BrokenLine) -> dict[str, str]:
    """Settings by which files are objects, and devices fetch them there themselves."""
    return {
        "s3_bucket": swift.BUCKET,
        "s3_prefix": secrets.token_hex(8),
        "s3_endpoint": storage.url,
        "s3_region": swift.REGION,
        "s3_key_id": swift.KEY_ID,
        "s3_secret": swift.SECRET,
        "downloads": "presigned",
    }


def disturb(
    database: str,
    broker: str,
    directory: Path,
    *,
    agents: int,
    faults: int,
    every_s: float,
    seed: int,
    storage: BrokenLine | None = None,
    tell: Callable[[str], None] = lambda _line: None,
) -> Outcome:
    """Let `agents` learn while that many faults happen, one each `every_s` seconds on the mean, and look afterwards.

    The platform keeps its files behind `storage`; None: in a directory that its processes share.
    The faults follow from `seed`; when each meets the system does not. Raises AssertionError where the system does not
    go on by itself when the last has passed.
    """
    moments = random.Random(seed)
    with system(database, broker, directory, storage) as (disturbed, token, pair), ExitStack() as running:
        operator = running.enter_context(OperatorClient(disturbed.webs[0].url, token))
        pace = {"kind": "sync", "target_updates": agents, "min_updates": agents, "over_selection": 1, "pause_s": 0}
        pace["deadline_s"] = DEADLINE_S
        plan = {**PLAN, "pace": pace}
        federation = operator.start_federation("chaos", pair=pair, plan=plan)
        disturbed.join(running, operator, "chaos", agents)
        operator.ended_round(federation, 1, within_s=120)
        began, done = time.monotonic(), Counter[str]()
        pending: list[tuple[float, int, Mend]] = []
        for number in range(faults):
            fault = disturbed.fault(moments)
            done[fault.name] += 1
            tell(f"{number + 1} of {faults}: {fault.name}, for {fault.lasts_s:.1f} s")
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
        why: dict[str, int] = dict(
            tables.execute(
                "SELECT reason_code, count(*) FROM rounds_round WHERE federation_id = %s AND state = 'abandoned'"
                " GROUP BY reason_code",
                [federation],
            ).fetchall()
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
        abandoned=sum(why.values()),
        why=why,
        different=sum(sha256 != _sha256(version) for (_, sha256, _, _), version in zip(rounds, wanted, strict=True)),
    )


def _row(tables: "psycopg.Connection[tuple[Any, ...]]", query: str, federation: str) -> tuple[Any, ...]:
    row = tables.execute(query, [federation]).fetchone()
    assert row is not None
    return row


def _sha256(version: Tensors) -> str:
    return hashlib.sha256(encode_tensors(version)).hexdigest()
