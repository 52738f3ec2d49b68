"""The platform under abuse: what strangers and bad clients cost it, and the honest devices beside them.

A million requests of some fifty kinds from 200 connections and 50 addresses, beside a federation of eight devices; at
the same time an agent's local API gets what programs on its device may send, and rounds get what no codec wrote.
``HOSTILE_SECONDS`` shortens it.
"""

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil

from coterie.config.announce import Ready, Restarting
from tests.benchmarks.hostile.attackers import Outcome, attack
from tests.benchmarks.hostile.beside import Federation, federation
from tests.benchmarks.hostile.kinds import KINDS, Context
from tests.benchmarks.hostile.local_api import LOCAL_KINDS
from tests.benchmarks.hostile.updates import SPOILT, Liars
from tests.benchmarks.report import Figure
from tests.system.eventually import eventually
from tests.system.operator_client import OperatorClient
from tests.system.processes import Platform, prepare_state
from tests.system.real_agent import RealAgent
from tests.system.scripted_device import ScriptedDevice
from tests.system.seed import Seeded

REQUESTS = 1_000_000
SECONDS = 600.0
CONNECTIONS = 200
DEVICES = 8
ALONE_S = 30.0
AFTER_S = 30.0
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
    agent_memory_bytes: tuple[int, int]
    """Of the agent whose local API was attacked: before, and at most."""
    agent_goes_on: bool


ALL_KINDS = {*KINDS, *LOCAL_KINDS, *(f"update: {name}" for name in SPOILT)}


def measure() -> list[Figure]:
    seconds = float(os.environ.get("HOSTILE_SECONDS", SECONDS))
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        seeded = prepare_state(root, pairs=2, state=str(root / "state"))
        platform = Platform(root / "state")
        platform.start()
        try:
            siege = besiege(
                platform, seeded, connections=CONNECTIONS, requests=REQUESTS, seconds=seconds, alone_s=ALONE_S
            )
        finally:
            platform.stop()
    return list(_figures(siege))


def besiege(
    platform: Platform, seeded: Seeded, *, connections: int, requests: int, seconds: float, alone_s: float
) -> Siege:
    """Attack a platform that runs; it goes on."""
    server = psutil.Process(platform.told(Ready)[-1].server_pid)
    with OperatorClient(platform.url, seeded.token) as operator:
        hostile = ScriptedDevice(platform.url, operator.enrolment_token(), "hostile")
        made = operator.post("/tokens/", {"name": "hostile"})
    context = Context(hostile.credential, made["secret"])
    hostile.close()
    port = int(platform.url.rpartition(":")[2])
    with federation(platform.url, seeded.token, seeded.pairs[0], seeded.held_out, devices=DEVICES) as beside:
        alone = _rounds_within(beside, alone_s)
        lines, disk, before = len(platform.log().splitlines()), _disk_bytes(platform.state), _memory_bytes(server)
        known = len(beside.published())
        began = time.monotonic()
        with _attacked_agent(platform, seeded) as agent:
            spoilt = Outcome()
            liars = Liars(platform.url, seeded.token, seeded.pairs[1], spoilt)
            liars.start()
            process = agent.process()
            agent_before = _memory_bytes(process)
            outcome, peaks = asyncio.run(
                _watched((server, process), port, _local_api(agent), context, connections, requests, seconds)
            )
            liars.end()
            outcome.add(spoilt)
            lasted = time.monotonic() - began
            goes_on = agent.exit_status() is None and "Traceback" not in agent.log()
        rounds = beside.published()[known:]
        _rounds_within(beside, min(AFTER_S, alone_s))
    return Siege(
        outcome=outcome,
        seconds=lasted,
        memory_bytes=(before, peaks[0], _memory_bytes(server)),
        agent_memory_bytes=(agent_before, peaks[1]),
        agent_goes_on=goes_on,
        disk_bytes=(disk, _disk_bytes(platform.state)),
        log_lines=len(platform.log().splitlines()) - lines,
        restarts=len(platform.told(Restarting)),
        rounds_alone_s=alone,
        rounds_beside_s=rounds,
    )


@contextmanager
def _attacked_agent(platform: Platform, seeded: Seeded) -> Iterator[RealAgent]:
    """An agent that serves its local API."""
    with OperatorClient(platform.url, seeded.token) as operator, tempfile.TemporaryDirectory() as directory:
        agent = RealAgent(Path(directory) / "agent", platform.url, operator.enrolment_token(), local_api=True)
        agent.start()
        try:
            eventually((agent.home / "local-api.json").exists)
            yield agent
        finally:
            agent.kill()


def _local_api(agent: RealAgent) -> tuple[int, Context]:
    """Its port, and its token, which some of those who attack it know."""
    address = msgspec.json.decode((agent.home / "local-api.json").read_bytes())
    return int(address["url"].rpartition(":")[2]), Context(credential="", token=address["token"])


async def _watched(
    processes: Sequence[psutil.Process],
    port: int,
    local: tuple[int, Context],
    context: Context,
    connections: int,
    requests: int,
    seconds: float,
) -> tuple[Outcome, list[int]]:
    peaks = [0 for _ in processes]

    async def watch() -> None:
        while True:
            peaks[:] = [max(peak, _memory_bytes(process)) for peak, process in zip(peaks, processes, strict=True)]
            await asyncio.sleep(0.2)

    watching = asyncio.create_task(watch())
    few, of_those = max(1, connections // 10), max(len(LOCAL_KINDS), requests // 20)
    outcome, beside = await asyncio.gather(
        attack(port, KINDS, context, connections=connections, requests=requests, seconds=seconds),
        attack(local[0], LOCAL_KINDS, local[1], connections=few, requests=of_those, seconds=seconds),
    )
    watching.cancel()
    outcome.add(beside)
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
    agent_grown = (siege.agent_memory_bytes[1] - siege.agent_memory_bytes[0]) / MEBIBYTE
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
        Figure(case, "the attacked agent's memory, grown by", agent_grown, "MiB"),
        Figure(case, "the attacked agent goes on", float(siege.agent_goes_on), "", "target 1"),
        Figure(case, "disk, grown by", last - first, "MiB", "bounded; the rounds' models are in it"),
        Figure(case, "lines of log", siege.log_lines, "", "each offence of an address once in ten minutes"),
        Figure(case, "rounds alone, median", alone, "s"),
        Figure(case, "rounds beside, median", beside, "s", "target <= 1.5 x alone", alone / beside),
    ]
