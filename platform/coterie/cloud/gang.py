"""A gang of workers: child processes of a training job's own process, which all run or none.

As with torchrun's elastic agent: where one dies, all are ended and start again from the last checkpoint. Of a gang on
several hosts this is one host's part; there the platform restarts all of it.
"""

import logging
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from coterie.child.errors import Cancelled, Crashed
from coterie.child.job import Limits, Progress, ReportProgress
from coterie.child.run import run_child
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult, Together
from coterie.cloud.errors import WorkersDied
from coterie.cloud.share_job import ShareResult
from coterie.cloud.strategies import parse_strategy
from coterie.cloud.worker_job import JOB, WorkerArguments, WorkerResult
from coterie.core.errors import CoterieError

logger = logging.getLogger(__name__)

LIMITS = Limits(wall_s=14 * 24 * 3600, cpu_s=14 * 24 * 3600, memory_bytes=64 << 30, file_bytes=64 << 30)
"""Of each worker; it has no more than the job's own process, which confines it too."""
MAX_DEATHS = 3
"""Deaths without an epoch in between, after which a job fails."""


class Deaths:
    """Counts how often workers have died since the last epoch."""

    def __init__(self, most: int = MAX_DEATHS) -> None:
        self._count, self._most = 0, most

    def reset(self) -> None:
        """Reset the count: an epoch is done, so what kills workers is not their computation."""
        self._count = 0

    def add(self, worker: int, output: str) -> None:
        """Count a death of `worker`; `output`: the end of its output. Raises WorkersDied where it is the last one
        allowed.
        """
        self._count += 1
        logger.warning("worker %d died: %s", worker, output)
        if self._count >= self._most:
            raise WorkersDied(worker=worker, times=self._count, output=output[-400:])


def train_by_gang(arguments: BootstrapArguments, report: ReportProgress) -> BootstrapResult:
    """Have the strategy's workers train together; they write the result. Raises WorkersDied, or what workers raise."""
    if arguments.together is not None:
        return _first_of(_part(arguments, arguments.together, report))
    count, deaths = parse_strategy(arguments.strategy).count, Deaths()

    def report_progress(progress: Progress) -> None:
        deaths.reset()
        report(progress)

    while True:
        with tempfile.TemporaryDirectory(prefix="gang-", dir=Path.cwd()) as directory:
            meeting = str(Path(directory, "meeting"))
            workers = [WorkerArguments(arguments, number, meeting=meeting) for number in range(count)]
            try:
                return _first_of(_attempt(workers, report_progress))
            except _Died as died:
                deaths.add(died.worker, died.output)


def run_share(arguments: BootstrapArguments, report: ReportProgress) -> ShareResult:
    """Run the workers of a host that does not lead; the result comes from the leader.

    Raises WorkersDied, or what workers raise.
    """
    assert arguments.together is not None, "it is a part of a gang"
    _part(arguments, arguments.together, report)
    return ShareResult()


def _part(arguments: BootstrapArguments, together: Together, report: ReportProgress) -> list[WorkerResult]:
    numbers = range(together.first, together.first + together.here)
    try:
        return _attempt([WorkerArguments(arguments, number) for number in numbers], report)
    except _Died as died:
        Deaths(most=1).add(died.worker, died.output)
        raise


class _Died(Exception):
    """A worker of the gang died; `output` is the end of what it printed."""

    def __init__(self, worker: int, death: Crashed) -> None:
        super().__init__(worker, death)
        self.worker, self.output = worker, _last_words(death)


def _attempt(workers: list[WorkerArguments], report: ReportProgress) -> list[WorkerResult]:
    """Run all workers until they are done, or until one fails and the others were ended.

    Raises _Died, or the error of a worker.
    """
    stop = threading.Event()
    failures: list[tuple[int, CoterieError]] = []

    def run(worker: WorkerArguments) -> WorkerResult | None:
        report_progress = report if worker.number == 0 else None
        try:
            return run_child(JOB, worker, limits=LIMITS, on_progress=report_progress, cancel=stop)
        except CoterieError as error:
            if not stop.is_set() or not isinstance(error, Cancelled):
                failures.append((worker.number, error))
            stop.set()
            return None

    with ThreadPoolExecutor(len(workers), thread_name_prefix="worker") as threads:
        results = list(threads.map(run, workers))
    # Workers that lose a neighbour crash too, so a worker's own error takes precedence over a crash.
    for number, error in sorted(failures, key=lambda failure: isinstance(failure[1], Crashed)):
        if isinstance(error, Crashed):
            raise _Died(number, error)
        raise error
    return [result for result in results if result is not None]


def _first_of(results: list[WorkerResult]) -> BootstrapResult:
    trained = [result.trained for result in results if result.trained is not None]
    assert len(trained) == 1, "the first worker has the result"
    return trained[0]


class Volunteers:
    """Workers each of which restarts alone when it dies, while the others continue."""

    def __init__(
        self, workers: list[WorkerArguments], *, deaths: Deaths, failed: Callable[[CoterieError], None]
    ) -> None:
        """`failed` is called from a thread when a worker cannot continue, as after the last of `deaths`."""
        self._deaths = deaths
        self._stop = threading.Event()
        self._failed = failed
        self._threads = ThreadPoolExecutor(len(workers), thread_name_prefix="worker")
        for worker in workers:
            self._threads.submit(self._run, worker)

    def stop(self) -> None:
        """Have all of them end."""
        self._stop.set()

    def end(self) -> None:
        """End all of them, and wait until they have."""
        self._stop.set()
        self._threads.shutdown(wait=True)

    def _run(self, worker: WorkerArguments) -> None:
        while not self._stop.is_set():
            try:
                with suppress(Cancelled):
                    run_child(JOB, worker, limits=LIMITS, cancel=self._stop)
                return
            except Crashed as death:
                try:
                    self._deaths.add(worker.number, _last_words(death))
                except WorkersDied as error:
                    self._failed(error)
                    return
            except CoterieError as error:
                self._failed(error)
                return


def _last_words(death: Crashed) -> str:
    return str(death.fields["output"])
