"""The platform under abuse: what strangers and bad clients cost it, and the honest devices beside them.

A million requests of some seventy kinds from 200 connections and 50 addresses, beside a federation of eight devices; at
the same time agents get what programs on their devices may send (local API, prediction service) and what other devices
may (supernode, meetings), rounds get what no codec wrote, and secure sums a member that lies. ``HOSTILE_SECONDS``
shortens it.

Attackers, and the agents that they attack, have half of the cores, and the platform with the honest devices has the
other half, alone as beside: what attackers compute is not to be taken from the platform.
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
import psutil

from coterie.config.announce import Ready, Restarting
from coterie_wire.meeting import MEETINGS_PATH
from coterie_wire.relaying import PATH
from tests.benchmarks.hostile.attackers import Outcome, Target, attack
from tests.benchmarks.hostile.beside import Federation, federation
from tests.benchmarks.hostile.kinds import KINDS, Context
from tests.benchmarks.hostile.local_api import LOCAL_KINDS
from tests.benchmarks.hostile.neighbours import NEIGHBOUR_KINDS, Doors, at, doors
from tests.benchmarks.hostile.serving import ANNOUNCED, SERVING_KINDS, Service, service
from tests.benchmarks.hostile.sums import SUM_KINDS, SumLiar
from tests.benchmarks.hostile.updates import SPOILT, Liars
from tests.benchmarks.report import Figure
from tests.system.operator_client import OperatorClient
from tests.system.processes import Platform, prepare_state
from tests.system.scripted_device import ScriptedDevice
from tests.system.seed import Seeded

REQUESTS = 1_000_000
SECONDS = 600.0
CONNECTIONS = 200
DEVICES = 8
ALONE_S = 30.0
AFTER_S = 75.0
"""Long enough for the platform to give memory back once."""
MEBIBYTE = 1 << 20


class Siege(NamedTuple):
    """An attack, and what it did."""

    outcome: Outcome
    seconds: float
    memory_bytes: tuple[int, int, int]
    """Of the server: before, at most, and after."""
    disk_bytes: tuple[int, int]
    """Of state and spool: before and after."""
    log_lines: int
    restarts: int
    rounds_alone_s: list[float]
    rounds_beside_s: list[float]
    agents_memory_bytes: Mapping[str, tuple[int, int]]
    """Of each process of agents that was attacked: before, and at most."""
    agents_go_on: bool
    sums: int
    """Secure sums that were published beside a member that lies."""
    quarantined: int
    """How often that member was put into quarantine."""
    stuck: str
    """The secure sum that did not end within a minute, which ended the others, too; nothing: all did."""


@dataclass(frozen=True)
class Front:
    """A way in, and what is sent there."""

    target: Target
    # Any: each kind knows its own context.
    kinds: Mapping[str, Callable[[Random, Any], bytes]]
    context: Any
    announced: frozenset[str] = frozenset({"503"})


ALL_KINDS = {
    *KINDS,
    *LOCAL_KINDS,
    *SERVING_KINDS,
    *NEIGHBOUR_KINDS,
    *SUM_KINDS,
    *(f"update: {name}" for name in SPOILT),
}


def measure() -> list[Figure]:
    seconds = float(os.environ.get("HOSTILE_SECONDS", SECONDS))
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        seeded = prepare_state(root, pairs=5, state=str(root / "state"))
        platform = Platform(root / "state")
        with _on_half(0):
            platform.start()
        try:
            siege = besiege(
                platform,
                seeded,
                connections=CONNECTIONS,
                requests=REQUESTS,
                seconds=seconds,
                alone_s=ALONE_S,
                after_s=AFTER_S,
            )
        finally:
            platform.stop()
    if siege.stuck:
        sys.stderr.write(siege.stuck + "\n")
    return list(_figures(siege))


def besiege(
    platform: Platform,
    seeded: Seeded,
    *,
    connections: int,
    requests: int,
    seconds: float,
    alone_s: float,
    after_s: float,
) -> Siege:
    """Attack a platform that runs; it goes on."""
    server = psutil.Process(platform.told(Ready)[-1].server_pid)
    with OperatorClient(platform.url, seeded.token) as operator:
        hostile = ScriptedDevice(platform.url, operator.enrolment_token(), "hostile")
        made = operator.post("/tokens/", {"name": "hostile"})
    context = Context(hostile.credential, made["secret"])
    hostile.close()
    platforms = Front(int(platform.url.rpartition(":")[2]), KINDS, context)
    with ExitStack() as stack:
        pair, of_liars, *of_doors, of_sums = seeded.pairs[:5]
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with _on_half(1):
            found = stack.enter_context(doors(platform.url, seeded.token, (of_doors[0], of_doors[1]), root))
            served = stack.enter_context(service(found.peer.home))
        with _on_half(0):
            beside = stack.enter_context(federation(platform.url, seeded.token, pair, seeded.held_out, devices=DEVICES))
        alone = _rounds_within(beside, alone_s)
        agents = {"supernode": found.supernode.process(), "peer": found.peer.process(), "service": served.process}
        lines, disk, before = len(platform.log().splitlines()), _disk_bytes(platform.state), _memory_bytes(server)
        agents_before = [_memory_bytes(agent) for agent in agents.values()]
        known = len(beside.published())
        began = time.monotonic()
        spoilt, lied = Outcome(), Outcome()
        liars = Liars(platform.url, seeded.token, of_liars, spoilt)
        sums = SumLiar(platform.url, seeded.token, of_sums, lied)
        with _on_half(1):
            liars.start()
            sums.start()
        with ThreadPoolExecutor(1, initializer=_take_half, initargs=(1,)) as elsewhere:
            watched = _watched(
                (server, *agents.values()), platforms, _fronts(found, served), connections, requests, seconds
            )
            outcome, peaks = elsewhere.submit(asyncio.run, watched).result()
        liars.end()
        sums.end()
        outcome.add(spoilt)
        outcome.add(lied)
        lasted = time.monotonic() - began
        logs = [found.supernode.log(), found.peer.log(), (found.peer.home / "serve.log").read_text(encoding="utf-8")]
        goes_on = all(agent.is_running() for agent in agents.values()) and not any("Traceback" in log for log in logs)
        rounds = beside.published()[known:]
        time.sleep(after_s)
        return Siege(
            outcome=outcome,
            seconds=lasted,
            memory_bytes=(before, peaks[0], _memory_bytes(server)),
            agents_memory_bytes=dict(zip(agents, zip(agents_before, peaks[1:], strict=True), strict=True)),
            agents_go_on=goes_on,
            sums=sums.sums,
            quarantined=sums.quarantined,
            stuck=sums.stuck,
            disk_bytes=(disk, _disk_bytes(platform.state)),
            log_lines=len(platform.log().splitlines()) - lines,
            restarts=len(platform.told(Restarting)),
            rounds_alone_s=alone,
            rounds_beside_s=rounds,
        )


def _take_half(which: int) -> None:
    """Of the cores, for this thread and whatever it starts; a single core is shared."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[which::2] or cores)


@contextmanager
def _on_half(which: int) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    _take_half(which)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _fronts(found: Doors, served: Service) -> list[Front]:
    """Of the agents; some of those who attack the local ones know the token."""
    address = msgspec.json.decode((found.supernode.home / "local-api.json").read_bytes())
    local = Context(credential="", token=address["token"])
    return [
        Front(int(address["url"].rpartition(":")[2]), LOCAL_KINDS, local),
        Front(served.port, SERVING_KINDS, served.context, ANNOUNCED),
        Front(served.socket, SERVING_KINDS, served.context, ANNOUNCED),
        Front(found.supernode_port, at(PATH), found.to_supernode),
        Front(found.peer_port, at(MEETINGS_PATH), found.to_peer),
    ]


async def _watched(
    processes: Sequence[psutil.Process],
    platforms: Front,
    agents: Sequence[Front],
    connections: int,
    requests: int,
    seconds: float,
) -> tuple[Outcome, list[int]]:
    peaks = [0 for _ in processes]

    async def watch() -> None:
        while True:
            peaks[:] = [max(peak, _memory_bytes(process)) for peak, process in zip(peaks, processes, strict=True)]
            await asyncio.sleep(0.2)

    async def storm(front: Front, connections: int, requests: int) -> Outcome:
        return await attack(
            front.target,
            front.kinds,
            front.context,
            connections=connections,
            requests=requests,
            seconds=seconds,
            announced=front.announced,
        )

    watching = asyncio.create_task(watch())
    few = max(1, connections // 10)
    outcome, *others = await asyncio.gather(
        storm(platforms, connections, requests),
        *(storm(front, few, max(2 * len(front.kinds), requests // 20)) for front in agents),
    )
    watching.cancel()
    for other in others:
        outcome.add(other)
    return outcome, peaks


def _rounds_within(beside: Federation, seconds: float) -> list[float]:
    known = len(beside.published())
    time.sleep(seconds)
    return beside.published()[known:]


def _memory_bytes(server: psutil.Process) -> int:
    return int(server.memory_info().rss)


def _disk_bytes(state: Path) -> int:
    roots = (state, *Path(tempfile.gettempdir()).glob("coterie-spool-*"))
    return sum(_size(Path(folder, name)) for root in roots for folder, _, names in os.walk(root) for name in names)


def _size(path: Path) -> int:
    """Of a file of a platform that goes on working: one that is removed meanwhile takes nothing."""
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def _figures(siege: Siege) -> list[Figure]:
    outcome = siege.outcome
    before, peak, after = (size / MEBIBYTE for size in siege.memory_bytes)
    grown = {name: (peak - before) / MEBIBYTE for name, (before, peak) in siege.agents_memory_bytes.items()}
    first, last = (size / MEBIBYTE for size in siege.disk_bytes)
    refused = sum(count for status, count in outcome.answers.items() if status.startswith("4"))
    case = f"{CONNECTIONS} connections, {siege.seconds:.0f} s"
    alone = statistics.median(siege.rounds_alone_s) if siege.rounds_alone_s else float("nan")
    beside = statistics.median(siege.rounds_beside_s) if siege.rounds_beside_s else float("nan")
    return [
        Figure(case, "requests", outcome.requests, "", f"target {REQUESTS:,}"),
        Figure(case, "kinds", len(ALL_KINDS), "", "target >= 40"),
        Figure(case, "refused with 4xx", refused, ""),
        Figure(case, "told to come back (503)", outcome.answers["503"], ""),
        Figure(case, "other 5xx", sum(outcome.broken.values()), "", "target 0"),
        Figure(case, "crashes", siege.restarts, "", "target 0"),
        Figure(case, "memory before", before, "MiB"),
        Figure(case, "memory at most, above that", peak - before, "MiB", "target <= 100"),
        Figure(case, "memory after, above that", after - before, "MiB", "target 0"),
        *(Figure(case, f"the attacked {name}'s memory, grown by", size, "MiB") for name, size in grown.items()),
        Figure(case, "the attacked agents go on", float(siege.agents_go_on), "", "target 1"),
        Figure(case, "secure sums beside a liar", siege.sums, ""),
        Figure(case, "of them stuck", float(bool(siege.stuck)), "", "target 0"),
        Figure(case, "times that liar was put into quarantine", siege.quarantined, ""),
        Figure(case, "disk, grown by", last - first, "MiB", "bounded; the rounds' models are in it"),
        Figure(case, "lines of log", siege.log_lines, "", "each offence of an address once in ten minutes"),
        Figure(case, "rounds alone, median", alone, "s"),
        Figure(case, "rounds beside, median", beside, "s", "target <= 1.5 x alone", alone / beside),
    ]
