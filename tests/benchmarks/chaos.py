"""Chaos: random faults in every part of a platform in scaled mode, while eight real agents learn.

Processes are killed and stopped, agents killed, lines to PostgreSQL, Redis and the agents cut; then the rounds are
counted and compared, bit for bit, with those of the same federation in memory.
"""

import os
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import redis

from tests.benchmarks.report import Figure
from tests.system.chaos import disturb
from tests.system.scaled import REDIS, new_database

AGENTS, SEED = 8, 0
FAULTS = int(os.environ.get("CHAOS_FAULTS", "1000"))
EVERY_S = 3.0
"""On the mean. What was killed needs seconds of the processor to be there again, so that two cores take no more."""
NUMBER = 15
"""Of the Redis database, which is emptied."""


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory, new_database() as database:
        broker = f"{REDIS}/{NUMBER}"
        try:
            found = disturb(
                database, broker, Path(directory), agents=AGENTS, faults=FAULTS, every_s=EVERY_S, seed=SEED, tell=_tell
            )
        finally:
            with closing(redis.Redis.from_url(broker)) as client:
                client.flushdb()
    case = f"{sum(found.faults.values())} faults in {found.seconds:.0f} s, {AGENTS} agents"
    nothing = "target 0"
    return [
        *(Figure(case, name, count, "times") for name, count in sorted(found.faults.items())),
        Figure(case, "rounds published, each with every device's update", found.rounds, "rounds"),
        Figure(case, "updates lost", found.lost, "updates", against=nothing),
        Figure(case, "updates counted twice", found.doubled, "updates", against=nothing),
        Figure(case, "rounds abandoned", found.abandoned, "rounds", against=nothing),
        Figure(case, "versions with other bits than undisturbed", found.different, "versions", against=nothing),
    ]


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
