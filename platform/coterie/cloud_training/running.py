"""Runs a training job in a child process, under a lease, and ends it in one transaction with its result."""

import logging
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event

import msgspec
from django.db import transaction

from coterie.child.errors import Cancelled
from coterie.child.job import A, ChildJob, Limits, Progress, R, Unconfined
from coterie.child.run import run_child
from coterie.cloud import bootstrap_job, distill_job, preflight_job, quantise_job, rehearsal_job, simulation_job
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.launch.follow import train_elsewhere
from coterie.cloud.launch.gang import GangStatus
from coterie.cloud.strategies import parse_strategy
from coterie.cloud.strategy import Strategy
from coterie.cloud_training import work
from coterie.cloud_training.curve import Curve, read_curve
from coterie.cloud_training.launchers import configured_launcher, gang_of
from coterie.cloud_training.leasing import (
    fail_or_retry,
    go_on_as_gang,
    hold_job,
    postpone,
    put_back,
    record_curve,
    record_found,
    record_launcher,
    record_progress,
    record_unconfined,
    succeed,
    take_job,
)
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import TrainingOptions
from coterie.cloud_training.together import call_gang, limits_of
from coterie.cluster.launchers import HERE
from coterie.cluster.services import GangPlacement, holds_place, place_of
from coterie.core.errors import CoterieError
from coterie.core.lease import Heartbeat
from coterie.core.postponing import lack_of
from coterie.core.scratch import scratch_directory
from coterie.registry.services import reject_pair
from coterie_wire.structs import from_values

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
PROGRESS_EVERY = timedelta(seconds=0.5)


def run_job(*, job_id: uuid.UUID, placement: int, clock: Clock) -> None:
    """Run a job where its gang is placed, unless it is running, was placed elsewhere meanwhile, or has ended.

    If it is cancelled meanwhile, its result is dropped. It is queued again where it has to make room, where the disk is
    full, and where the file storage does not answer.
    """
    lease, place = uuid.uuid4(), place_of(job_id)
    if place is None or place.placement != placement:
        return
    job = take_job(job_id, lease, clock(), place=place)
    if job is None:
        return
    reporter = _Reporter(job, lease, clock)

    def hold() -> bool:
        stands, now = place_of(job_id), clock()
        if stands is not None and stands.leaving:
            reporter.leaves.set()
        return hold_job(job_id, lease, now) and holds_place(job_id, placement, now)

    with Heartbeat(hold) as heartbeat:
        try:
            with scratch_directory("job") as directory:
                if (strategy := _to_rehearse(job)) is not None:
                    told = _rehearse(job, strategy, directory, reporter, heartbeat.lost, clock)
                    go_on_as_gang(job, lease, strategy, told, clock())
                    return
                finish = _do(job, place, directory, reporter, heartbeat.lost, clock)
        except Cancelled:
            waits = put_back(job, lease, clock())
            logger.info("%s %s", job, "waits for another place" if waits else "was cancelled")
            return
        except Exception as error:
            if (lack := lack_of(error)) is not None:
                logger.warning("%s waits: %s", job, lack.sentence)
                postpone(job, lease, lack, clock())
            elif isinstance(error, CoterieError):
                _fail(job, lease, error, clock())
            else:
                raise
            return
        with transaction.atomic():
            if succeed(job, lease, clock()):
                finish(clock())
    logger.info("%s is done", job)


def _to_rehearse(job: TrainingJob) -> Strategy | None:
    """The strategy of a large gang that was not tried yet; None: there is nothing to try."""
    if job.kind != TrainingJob.Kind.BOOTSTRAP or job.rehearsed:
        return None
    strategy = parse_strategy(from_values(job.options, TrainingOptions).strategy)
    return strategy if strategy.count >= rehearsal_job.LARGE else None


def _rehearse(
    job: TrainingJob, strategy: Strategy, directory: Path, reporter: "_Reporter", cancel: Event, clock: Clock
) -> str:
    """Have one process try the gang's training; returns the findings, for people. Raises what `run_child` does."""
    train = work.bootstrap_arguments(job, directory, clock())
    found = reporter.run(rehearsal_job.JOB, train, limits_of(train), cancel)
    size = f"{found.memory_bytes >> 20} MB and {found.step_s:.2g} s a step"
    return f"one process took {size} to try it; {strategy.count} workers wait for their places"


def _do(
    job: TrainingJob, place: GangPlacement, directory: Path, reporter: "_Reporter", cancel: Event, clock: Clock
) -> work.Finish:
    """Run the child and store its files; returns the remaining change of the registry."""
    match TrainingJob.Kind(job.kind):
        case TrainingJob.Kind.PREFLIGHT:
            check = work.preflight_arguments(job, directory, clock())
            checked = reporter.run(preflight_job.JOB, check, preflight_job.LIMITS, cancel)
            return work.accept(job, check, checked, clock())
        case TrainingJob.Kind.BOOTSTRAP:
            train = work.bootstrap_arguments(job, directory, clock())
            trained = _bootstrap(job, place, train, reporter, cancel, clock)
            return work.publish_cloud(job, train, trained, clock())
        case TrainingJob.Kind.DISTILL:
            distil = work.distill_arguments(job, directory, clock())
            distilled = reporter.run(distill_job.JOB, distil, work.TRAINING_LIMITS, cancel)
            return work.publish_device(job, distil, distilled, clock())
        case TrainingJob.Kind.QUANTISE:
            quantise = work.quantise_arguments(job, directory, clock())
            quantised = reporter.run(quantise_job.JOB, quantise, quantise_job.LIMITS, cancel)
            return work.keep_variant(job, quantise, quantised, clock())
        case TrainingJob.Kind.SIMULATION:
            simulate = work.simulation_arguments(job, directory, clock())
            simulated = reporter.run(simulation_job.JOB, simulate, simulation_job.LIMITS, cancel)
            reporter.keep(simulated)
            return work.report_findings(job, simulated)


def _bootstrap(
    job: TrainingJob,
    place: GangPlacement,
    train: BootstrapArguments,
    reporter: "_Reporter",
    cancel: Event,
    clock: Clock,
) -> BootstrapResult:
    """Train on this host, with others, or by the scheduler of another cluster. Raises what `run_child` does, or the
    scheduler's.
    """
    if (launcher := configured_launcher()) is not None:
        gang = gang_of(job, train)
        return train_elsewhere(
            launcher,
            gang,
            msgspec.structs.replace(train, gpus=tuple(range(gang.gpus_each))),
            on_progress=reporter.show,
            on_status=lambda status: reporter.launched(launcher.kind, status),
            cancel=cancel,
        )
    reporter.launched(HERE, GangStatus("runs"))
    train = call_gang(job, place, train, clock())
    return reporter.run(bootstrap_job.JOB, train, limits_of(train), cancel)


@transaction.atomic
def _fail(job: TrainingJob, lease: uuid.UUID, error: CoterieError, now: datetime) -> None:
    """End or requeue the job. Crashing its pre-flight, or exceeding its limits there, is the program's own failure."""
    reason = error.reason()
    logger.warning("%s failed: %s", job, reason.sentence)
    if fail_or_retry(job, lease, reason, now) and job.kind == TrainingJob.Kind.PREFLIGHT:
        reject_pair(pair=job.pair, reason=reason, fields=error.fields, now=now)


class _Reporter:
    """Writes a child's reports to the job's row, progress at most as often as people can follow."""

    def __init__(self, training: TrainingJob, lease: uuid.UUID, clock: Clock) -> None:
        self._job_id = training.pk
        self._curve = Curve(read_curve(training.curve)) if training.kind == TrainingJob.Kind.BOOTSTRAP else None
        self._lease = lease
        self._clock = clock
        self._next = clock()
        self.leaves = Event()
        """Set when the job is to make room: it ends with its next checkpoint."""

    def run(self, job: ChildJob[A, R], arguments: A, limits: Limits, cancel: Event) -> R:
        """Run `job` in a child. Raises what `run_child` does."""
        result = run_child(job, arguments, limits=limits, on_progress=self.show, on_unconfined=self.warn, cancel=cancel)
        self._write_curve()
        return result

    def keep(self, found: simulation_job.SimulationResult) -> None:
        """Write the results of a simulation."""
        record_found(self._job_id, self._lease, found)

    def show(self, progress: Progress) -> None:
        """Write it, or skip it for the next. Raises Cancelled where the job is to make room."""
        now = self._clock()
        if self._curve is not None and progress.values:
            self._curve.add(progress, now)
        if now >= self._next:
            self._next = now + PROGRESS_EVERY
            record_progress(self._job_id, self._lease, progress, now)
            self._write_curve()
        if self.leaves.is_set():
            self._write_curve()
            raise Cancelled(job=progress.stage)

    def _write_curve(self) -> None:
        if self._curve is not None:
            record_curve(self._job_id, self._lease, self._curve)

    def launched(self, launcher: str, status: GangStatus) -> None:
        """Record the launcher of its workers, and their status there."""
        record_launcher(self._job_id, self._lease, launcher, status, self._clock())

    def warn(self, unconfined: Unconfined) -> None:
        """Record which confinements the job runs without."""
        record_unconfined(self._job_id, self._lease, unconfined, self._clock())
