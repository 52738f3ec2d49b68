"""The platform under abuse: what strangers and bad clients cost it, and the honest devices beside them.

A million requests of some fifty kinds from 200 connections and 50 addresses, beside a federation of eight devices.
``HOSTILE_SECONDS`` shortens it.
"""

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import psutil

from coterie.config.announce import Ready, Restarting
from tests.benchmarks.hostile.attackers import Outcome, attack
from tests.benchmarks.hostile.beside import Federation, federation
from tests.benchmarks.hostile.kinds import KINDS, Context
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


def measure() -> list[Figure]:
    seconds = float(os.environ.get("HOSTILE_SECONDS", SECONDS))
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        seeded = prepare_state(root, pairs=1, state=str(root / "state"))
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
        outcome, peak = asyncio.run(_watched(server, port, context, connections, requests, seconds))
        lasted = time.monotonic() - began
        rounds = beside.published()[known:]
        _rounds_within(beside, min(AFTER_S, alone_s))
    return Siege(
        outcome=outcome,
        seconds=lasted,
        memory_bytes=(before, peak, _memory_bytes(server)),
        disk_bytes=(disk, _disk_bytes(platform.state)),
        log_lines=len(platform.log().splitlines()) - lines,
        restarts=len(platform.told(Restarting)),
        rounds_alone_s=alone,
        rounds_beside_s=rounds,
    )


async def _watched(
    server: psutil.Process, port: int, context: Context, connections: int, requests: int, seconds: float
) -> tuple[Outcome, int]:
    peak = 0

    async def watch() -> None:
        nonlocal peak
        while True:
            peak = max(peak, _memory_bytes(server))
            await asyncio.sleep(0.2)

    watching = asyncio.create_task(watch())
    outcome = await attack(port, context, connections=connections, requests=requests, seconds=seconds)
    watching.cancel()
    return outcome, peak


def _rounds_within(beside: Federation, seconds: float) -> list[float]:
    known = len(beside.published())
    time.sleep(seconds)
    return beside.published()[known:]


def _memory_bytes(server: psutil.Process) -> int:
    return int(server.memory_info().rss)


def _disk_bytes(state: Path) -> int:
    spools = Path(tempfile.gettempdir()).glob("coterie-spool-*")
    files = (path for root in (state, *spools) for path in root.rglob("*"))
    return sum(path.stat().st_size for path in files if path.is_file())


def _figures(siege: Siege) -> list[Figure]:
    outcome = siege.outcome
    before, peak, after = (size / MEBIBYTE for size in siege.memory_bytes)
    first, last = (size / MEBIBYTE for size in siege.disk_bytes)
    refused = sum(count for status, count in outcome.answers.items() if status.startswith("4"))
    case = f"{CONNECTIONS} connections, {siege.seconds:.0f} s"
    alone = statistics.median(siege.rounds_alone_s) if siege.rounds_alone_s else float("nan")
    beside = statistics.median(siege.rounds_beside_s) if siege.rounds_beside_s else float("nan")
    return [
        Figure(case, "requests", outcome.requests, "", f"target {REQUESTS:,}"),
        Figure(case, "kinds", len(KINDS), "", "target >= 40"),
        Figure(case, "refused with 4xx", refused, ""),
        Figure(case, "told to come back (503)", outcome.answers["503"], ""),
        Figure(case, "other 5xx", sum(outcome.broken.values()), "", "target 0"),
        Figure(case, "crashes", siege.restarts, "", "target 0"),
        Figure(case, "memory before", before, "MiB"),
        Figure(case, "memory at most, above that", peak - before, "MiB", "target <= 100"),
        Figure(case, "memory after, above that", after - before, "MiB", "target 0"),
        Figure(case, "disk, grown by", last - first, "MiB", "bounded; the rounds' models are in it"),
        Figure(case, "lines of log", siege.log_lines, "", "each offence of an address once in ten minutes"),
        Figure(case, "rounds alone, median", alone, "s"),
        Figure(case, "rounds beside, median", beside, "s", "target <= 1.5 x alone", alone / beside),
    ]
