"""Kills (SIGKILL) at random times while each strategy trains, a random number of them: does it end, with the same bits?

A worker or a server is killed, or the job's own process, after which another one takes the job. Checkpoints are written
after each step, so that nearly every kill falls into one. ``COTERIE_KILLS_MINUTES``, 10 by default, is how long it goes
on, strategy after strategy in turn.
"""

import os
import random
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import psutil

from coterie.child.errors import Cancelled
from coterie.child.job import Progress
from coterie.child.run import run_child
from coterie.cloud import bootstrap_job
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.simulation_job import SAVED
from tests.benchmarks.report import Figure
from tests.coterie.cloud.test_kills import LIMITS, STRATEGIES, is_member
from tests.coterie.cloud.training import arguments_of, write_job

EPOCHS = 3
MOST_KILLS = 4
LATEST_S = 1.0
"""A kill comes so long after something was told, at most."""
MINUTES = float(os.environ.get("COTERIE_KILLS_MINUTES", "10"))


@dataclass
class Found:
    """Of one strategy."""

    runs: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    same: int = 0
    once: int = 0
    """Runs in which each epoch was told once."""


def measure() -> list[Figure]:
    """All figures."""
    draw, found = random.Random(0), {name_of(strategy): Found() for strategy in STRATEGIES}
    deadline = time.monotonic() + 60 * MINUTES
    with tempfile.TemporaryDirectory() as name:
        job = Path(name)
        write_job(job)
        whole = {name_of(strategy): _train(arguments_of(job, strategy, epochs=EPOCHS)) for strategy in STRATEGIES}
        while time.monotonic() < deadline:
            strategy = min(STRATEGIES, key=lambda one: found[name_of(one)].runs)
            _run(job, strategy, found[name_of(strategy)], whole[name_of(strategy)], draw)
    figures = []
    for name, of in found.items():
        killed = sum(of.kills.values())
        said = f"{of.kills['member']} of workers and servers, {of.kills['job']} of the job's process; {of.runs} runs"
        figures.append(Figure(name, "kills", killed, "", said))
        figures.append(
            Figure(name, "runs that ended with the bits of one without a kill", of.same, "", f"{of.runs} runs")
        )
        figures.append(Figure(name, "runs in which each epoch was told once", of.once, "", f"{of.runs} runs"))
    return figures


def name_of(strategy: dict[str, object]) -> str:
    """For people."""
    return " ".join(str(value) for key, value in strategy.items() if key in ("kind", "hook", "transfers", "servers"))


def _train(arguments: BootstrapArguments) -> tuple[BootstrapResult, bytes]:
    result = run_child(bootstrap_job.JOB, arguments, limits=LIMITS)
    return result, Path(arguments.output).read_bytes()


class _Killing:
    """Kills one or another at random times after progress, until none is left to kill."""

    def __init__(self, found: Found, draw: random.Random) -> None:
        self._kills, self._draw = found.kills, draw
        self._left, self._until = draw.randint(1, MOST_KILLS), draw.randint(1, 12)
        self.cancel = threading.Event()
        """Set when the job's process is killed."""
        self.told: list[int] = []

    def follow(self, progress: Progress) -> None:
        if SAVED not in progress.values:
            self.told.append(progress.done)
        self._until -= 1
        if self._left and self._until <= 0:
            self._left, self._until = self._left - 1, self._draw.randint(1, 12)
            kill = self._kill_job if self._draw.random() < 1 / 3 else self._kill_member
            threading.Timer(self._draw.uniform(0, LATEST_S), kill).start()

    def _kill_job(self) -> None:
        self._kills["job"] += 1
        self.cancel.set()

    def _kill_member(self) -> None:
        members = []
        for one in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # it has just ended
                members += [one] if is_member(one) else []
        if members:
            self._kills["member"] += 1
            self._draw.choice(members).kill()


def _run(job: Path, strategy: dict[str, object], found: Found, whole: object, draw: random.Random) -> None:
    begun, killing = time.perf_counter(), _Killing(found, draw)
    with tempfile.TemporaryDirectory() as directory:
        plain = arguments_of(job, strategy, epochs=EPOCHS, checkpoints=Path(directory))
        arguments = msgspec.structs.replace(plain, checkpoint_s=0)
        result = None
        while result is None:
            killing.cancel.clear()
            with suppress(Cancelled):
                result = run_child(
                    bootstrap_job.JOB, arguments, limits=LIMITS, on_progress=killing.follow, cancel=killing.cancel
                )
        found.runs += 1
        found.same += (result, Path(arguments.output).read_bytes()) == whole
        found.once += killing.told == list(range(1, EPOCHS + 1))
    print(f"{name_of(strategy)}: {found} after {time.perf_counter() - begun:.0f} s", flush=True)
