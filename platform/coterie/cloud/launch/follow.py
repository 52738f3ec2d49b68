"""A training by a gang that another scheduler places: for the platform it looks like a child process."""

import logging
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from coterie.child.errors import Cancelled
from coterie.child.job import Failure, Progress, ReportProgress, Result
from coterie.cloud.bootstrap_job import JOB, BootstrapArguments, BootstrapResult
from coterie.cloud.errors import LaunchFailed
from coterie.cloud.launch.gang import Gang, GangStatus, Launcher
from coterie.cloud.launch.instructions import (
    INSTRUCTIONS,
    OUTCOME,
    PARAMETERS,
    PROGRESS,
    GangInstructions,
    Outcome,
    write_whole,
)
from coterie.cloud.strategies import parse_strategy
from coterie.core.errors import CoterieError
from coterie_wire.structs import from_json

logger = logging.getLogger(__name__)

POLL_S = 2.0
WRITTEN_AFTER = 5
"""Polls after which the output of an ended gang is visible, on a network file system."""
UNANSWERED = 60
"""Consecutive polls without an answer after which a scheduler counts as failed."""
SECONDARY_ERRORS = ("child.crashed",)
"""Error codes of a worker that lost another one, whose own error may say more."""


def gang_for(arguments: BootstrapArguments, *, name: str, directory: Path, on_gpus: bool = False) -> Gang:
    """Processes for a training: the workers, or one with a core for each where they do not communicate over a network.

    `on_gpus`: each worker has a GPU, too.
    """
    strategy = parse_strategy(arguments.strategy)
    processes = strategy.count if strategy.spreads else 1
    each = strategy.count // processes
    return Gang(name, processes, each, directory, gpus_each=each if on_gpus else 0)


def train_elsewhere(
    launcher: Launcher,
    gang: Gang,
    arguments: BootstrapArguments,
    *,
    on_progress: ReportProgress,
    on_status: Callable[[GangStatus], None],
    cancel: threading.Event,
) -> BootstrapResult:
    """Have `gang` train in its directory, and return the result as a child would.

    `on_standing` is called when the gang's status changes. Any exception ends the gang, including those of
    `on_progress`. Raises Cancelled, LaunchFailed, or what the workers do.
    """
    following = _Following(launcher, gang, on_status)
    launcher.stop(gang)  # from an attempt whose platform was killed
    following.write_instructions(arguments)
    launcher.start(gang)
    try:
        result = following.result(on_progress, cancel)
        shutil.copyfile(gang.directory / PARAMETERS, arguments.output)
    finally:
        try:
            launcher.stop(gang)
        except LaunchFailed:
            logger.warning("%s may go on; the job's next attempt ends it", gang.name, exc_info=True)
        shutil.rmtree(gang.directory, ignore_errors=True)
    return result


class _Following:
    def __init__(self, launcher: Launcher, gang: Gang, on_status: Callable[[GangStatus], None]) -> None:
        self._launcher, self._gang, self._on_status = launcher, gang, on_status
        self._read = 0
        self._last_status: GangStatus | None = None
        self._unanswered = 0

    def write_instructions(self, arguments: BootstrapArguments) -> None:
        directory = self._gang.directory
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(mode=0o700, parents=True)
        here = {}
        for name in ("cloud", "dataset", "loss"):
            if (path := getattr(arguments, name)) is not None:
                here[name] = str(directory / name)
                shutil.copyfile(path, here[name])
        training = msgspec.structs.replace(arguments, output=str(directory / PARAMETERS), **here)
        write_whole(directory / INSTRUCTIONS, msgspec.json.encode(GangInstructions(training, secrets.token_hex(16))))

    def result(self, on_progress: ReportProgress, cancel: threading.Event) -> BootstrapResult:
        over = 0
        while True:
            for progress in self._progress():
                on_progress(progress)
            failures, trained = [], None
            for outcome in self._outcomes():
                if isinstance(outcome, Failure):
                    failures.append(outcome)
                elif from_json(outcome.value, BootstrapResult | None) is not None:
                    trained = from_json(outcome.value, BootstrapResult)
            if trained is not None:
                return trained
            status = self._poll()
            if status != self._last_status:
                self._last_status = status
                self._on_status(status)
                if status.state == "waits":
                    on_progress(Progress(f"{self._launcher.kind} has it wait: {status.detail}"))
            over += status.state == "over" or bool(failures)
            if over > WRITTEN_AFTER or any(failure.code not in SECONDARY_ERRORS for failure in failures):
                raise self._failure(failures, status.detail)
            if cancel.wait(POLL_S):
                raise Cancelled(job=self._gang.name)

    def _poll(self) -> GangStatus:
        """Poll the gang's status. A scheduler that does not answer for a while has not lost the gang. Raises
        LaunchFailed.
        """
        try:
            status = self._launcher.poll(self._gang)
        except LaunchFailed:
            self._unanswered += 1
            if self._unanswered > UNANSWERED:
                raise
            return GangStatus("runs")
        self._unanswered = 0
        return status

    def _progress(self) -> Iterator[Progress]:
        path = self._gang.directory / PROGRESS
        if not path.exists():
            return
        with path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._read += len(line)
                yield from_json(line, Progress)

    def _outcomes(self) -> Iterator[Result | Failure]:
        for number in range(self._gang.processes):
            path = self._gang.directory / OUTCOME.format(number=number)
            if path.exists():
                yield from_json(path.read_bytes(), Outcome)

    def _failure(self, failures: list[Failure], detail: str) -> CoterieError:
        """A worker's own error takes precedence over a crash: workers that lose a neighbour crash too."""
        for failure in sorted(failures, key=lambda failure: failure.code in SECONDARY_ERRORS):
            for error in JOB.errors:
                if error.code == failure.code:
                    return error(**failure.fields)
            output = str(failure.fields.get("output", failure.code))
            return LaunchFailed(launcher=self._launcher.kind, detail=f"a worker died: {output[-300:]}")
        return LaunchFailed(launcher=self._launcher.kind, detail=detail or "the gang ended without a result")
