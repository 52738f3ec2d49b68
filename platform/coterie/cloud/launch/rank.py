"""A process of a gang that another scheduler started.

``python -m coterie.cloud.launch.rank DIRECTORY NUMBER LEADER PORT [--address ADDRESS]``. It trains in a child, which
confines itself as the children of the platform's hosts do.
"""

import argparse
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from coterie.child.job import Failure, Limits, Progress, ReportProgress, Result
from coterie.child.run import run_child
from coterie.cloud import bootstrap_job, worker_job
from coterie.cloud.bootstrap_job import BootstrapResult, Together
from coterie.cloud.launch.gang import WALL_S
from coterie.cloud.launch.instructions import INSTRUCTIONS, OUTCOME, PROGRESS, GangInstructions, Outcome, write_whole
from coterie.cloud.strategies import parse_strategy
from coterie.cloud.worker_job import WorkerArguments
from coterie.core.errors import CoterieError
from coterie_wire.structs import from_json

LIMITS = Limits(wall_s=WALL_S, cpu_s=64 * WALL_S, memory_bytes=64 << 30, confined=True, loopback=True)
"""The scheduler grants less, and its limits count."""
NAMED_WITHIN_S = 180.0
"""A pod's name can be resolved some seconds after it has started."""


class RankPlacement(NamedTuple):
    """This process's address, and that of the first one."""

    number: int
    address: str
    leader: str
    port: int


def run(directory: Path, place: RankPlacement) -> int:
    """Train, and write the outcome; returns the exit status."""
    given = from_json((directory / INSTRUCTIONS).read_bytes(), GangInstructions)

    def report(progress: Progress) -> None:
        with (directory / PROGRESS).open("ab") as file:
            file.write(msgspec.json.encode(progress) + b"\n")

    try:
        trained = _train(given, place, report if place.number == 0 else None)
    except CoterieError as error:
        outcome: Outcome = Failure(error.code, error.fields)
    else:
        outcome = Result(msgspec.Raw(msgspec.json.encode(trained)))
    write_whole(directory / OUTCOME.format(number=place.number), msgspec.json.encode(outcome))
    return 0 if isinstance(outcome, Result) else 1


def _train(given: GangInstructions, place: RankPlacement, report: ReportProgress | None) -> BootstrapResult | None:
    if not parse_strategy(given.training.strategy).spreads:
        return run_child(bootstrap_job.JOB, given.training, limits=LIMITS, on_progress=report)
    _wait_for_name(place.leader)
    together = Together(place.number, 1, place.address, place.leader, place.port, given.secret)
    worker = WorkerArguments(msgspec.structs.replace(given.training, together=together), place.number)
    return run_child(worker_job.JOB, worker, limits=replace(LIMITS, network=True), on_progress=report).trained


def _wait_for_name(leader: str) -> None:
    deadline = time.monotonic() + NAMED_WITHIN_S
    while True:
        try:
            socket.getaddrinfo(leader, None)
        except socket.gaierror:
            if time.monotonic() > deadline:
                return  # the worker reports the error
            time.sleep(1)
        else:
            return


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description="One process of a gang that another scheduler started.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("number", type=int)
    parser.add_argument("leader", help="host name or address of the first process")
    parser.add_argument("port", type=int, help="where the first process listens")
    parser.add_argument("--address", default=socket.gethostname(), help="where the others reach this one")
    given = parser.parse_args(arguments)
    return run(given.directory, RankPlacement(given.number, given.address, given.leader, given.port))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
