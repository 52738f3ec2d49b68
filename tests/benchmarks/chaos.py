"""Chaos: random faults in every part of a platform in scaled mode, while eight real agents learn.

Processes are killed and stopped, agents killed, lines to PostgreSQL, Redis and the agents cut, clocks stepped, disks
filled, and the object storage fails or is slow; then the rounds are counted and compared, bit for bit, with those of
the same federation in memory. What happened when, and the outcome, is written to ``build/bench/chaos-report.json``.
``CHAOS_FAULTS`` and ``CHAOS_SEED`` choose how much and what. It needs a C compiler, and the Swift that
``make test-object-storage`` installs.
"""

import os
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec
import redis

from tests.benchmarks.report import DIRECTORY, Figure
from tests.object_storage import swift
from tests.object_storage.broken_line import BrokenLine
from tests.system.chaos import disturb
from tests.system.scaled import REDIS, new_database
from tests.system.surroundings import can_be_disturbed

AGENTS = 8
SEED = int(os.environ.get("CHAOS_SEED", "0"))
FAULTS = int(os.environ.get("CHAOS_FAULTS", "1000"))
EVERY_S = 3.0
"""On the mean. What was killed needs seconds of the processor to be there again, so that two cores take no more."""
NUMBER = 15
"""Of the Redis database, which is emptied."""
REPORT = DIRECTORY / "chaos-report.json"


class Report(msgspec.Struct, frozen=True):
    """What is kept of a run."""

    seed: int
    agents: int
    every_s: float
    """On the mean, between two faults."""
    outcome: dict[str, object]
    """The fields of `tests.system.chaos.Outcome`."""
    told: list[str]
    """Each fault, at the second since the platform was started."""


def measure() -> list[Figure]:
    if not (swift.is_installed() and can_be_disturbed()):
        raise RuntimeError("chaos needs a C compiler, and the Swift that `make test-object-storage` installs")
    began_s, told = time.monotonic(), list[str]()

    def tell(line: str) -> None:
        told.append(f"{time.monotonic() - began_s:.1f} s: {line}")
        sys.stderr.write(f"{told[-1]}\n")

    with ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory()))
        database = running.enter_context(new_database())
        client = running.enter_context(closing(redis.Redis.from_url(f"{REDIS}/{NUMBER}")))
        running.callback(client.flushdb)
        (directory / "swift").mkdir()
        server = running.enter_context(swift.running(directory / "swift"))
        storage = running.enter_context(BrokenLine(server.url))
        found = disturb(
            database,
            f"{REDIS}/{NUMBER}",
            directory,
            agents=AGENTS,
            faults=FAULTS,
            every_s=EVERY_S,
            seed=SEED,
            storage=storage,
            tell=tell,
        )
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_bytes(msgspec.json.format(msgspec.json.encode(Report(SEED, AGENTS, EVERY_S, found._asdict(), told))))
    case = f"{sum(found.faults.values())} faults in {found.seconds:.0f} s, {AGENTS} agents, seed {SEED}"
    nothing = "target 0"
    return [
        *(Figure(case, name, count, "times") for name, count in sorted(found.faults.items())),
        Figure(case, "rounds published, each with every device's update", found.rounds, "rounds"),
        Figure(case, "updates lost", found.lost, "updates", against=nothing),
        Figure(case, "updates counted twice", found.doubled, "updates", against=nothing),
        Figure(case, "rounds abandoned", found.abandoned, "rounds", against=nothing),
        *(Figure(case, f"for {reason}", count, "rounds") for reason, count in sorted(found.why.items())),
        Figure(case, "versions with other bits than undisturbed", found.different, "versions", against=nothing),
    ]
