"""Does a training job in a child process, under a lease, and ends it in one transaction with its result."""

import logging
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event

from django.db import transaction

from coterie.child.errors import Cancelled, DiskFull
from coterie.child.job import A, ChildJob, Limits, Progress, R, Unconfined
from coterie.child.run import run_child
from coterie.cloud import bootstrap_job, distill_job, preflight_job, quantise_job
from coterie.cloud_training import work
from coterie.cloud_training.curve import Curve, read_curve
from coterie.cloud_training.leasing import (
    fail,
    hold_job,
    record_curve,
    record_progress,
    record_unconfined,
    succeed,
    take_job,
)
from coterie.cloud_training.models import TrainingJob
from coterie.core.disk import is_full
from coterie.core.errors import CoterieError
from coterie.core.lease import Heartbeat
from coterie.core.scratch import scratch_directory
from coterie.registry.services import reject_pair
from coterie_wire.conditions import Reason

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
PROGRESS_EVERY = timedelta(seconds=0.5)


def run_job(*, job_id: uuid.UUID, clock: Clock) -> None:
    """Do a job, unless it is being done or has ended. If it is cancelled meanwhile, its result is dropped."""
    lease = uuid.uuid4()
    job = take_job(job_id, lease, clock())
    if job is None:
        return
    shown = _Shown(job, lease, clock)
    with Heartbeat(lambda: hold_job(job_id, lease, clock())) as heartbeat:
        try:
            with scratch_directory("job") as directory:
                finish = _do(job, directory, shown, heartbeat.lost, clock)
        except Cancelled:
            logger.info("%s was cancelled", job)
            return
        except CoterieError as error:
            _fail(job, lease, error, clock())
            return
        except OSError as error:
            if not is_full(error):
                raise
            _fail(job, lease, DiskFull(job=job.kind), clock())
            return
        with transaction.atomic():
            if succeed(job, lease, clock()):
                finish(clock())
    logger.info("%s is done", job)


def _do(job: TrainingJob, directory: Path, shown: "_Shown", cancel: Event, clock: Clock) -> work.Finish:
    """Run the child and keep its files; returns the change of the registry that is left to do."""
    match TrainingJob.Kind(job.kind):
        case TrainingJob.Kind.PREFLIGHT:
            check = work.preflight_arguments(job, directory, clock())
            checked = shown.run(preflight_job.JOB, check, preflight_job.LIMITS, cancel)
            return work.accept(job, check, checked, clock())
        case TrainingJob.Kind.BOOTSTRAP:
            train = work.bootstrap_arguments(job, directory, clock())
            trained = shown.run(bootstrap_job.JOB, train, work.bootstrap_limits(train), cancel)
            return work.publish_cloud(job, train, trained, clock())
        case TrainingJob.Kind.DISTILL:
            distil = work.distill_arguments(job, directory, clock())
            distilled = shown.run(distill_job.JOB, distil, work.TRAINING_LIMITS, cancel)
            return work.publish_device(job, distil, distilled, clock())
        case TrainingJob.Kind.QUANTISE:
            quantise = work.quantise_arguments(job, directory, clock())
            quantised = shown.run(quantise_job.JOB, quantise, quantise_job.LIMITS, cancel)
            return work.keep_variant(job, quantise, quantised, clock())


@transaction.atomic
def _fail(job: TrainingJob, lease: uuid.UUID, error: CoterieError, now: datetime) -> None:
    """A program that crashes its pre-flight or takes too much has failed it: that is the program's fault."""
    reason = Reason(error.code, str(error)[:400])
    logger.warning("%s failed: %s", job, reason.sentence)
    if fail(job, lease, reason, now) and job.kind == TrainingJob.Kind.PREFLIGHT:
        reject_pair(pair=job.pair, reason=reason, fields=error.fields, now=now)


class _Shown:
    """Writes a child's reports to the job's row, its progress not more often than people can follow."""

    def __init__(self, training: TrainingJob, lease: uuid.UUID, clock: Clock) -> None:
        self._job_id = training.pk
        self._curve = Curve(read_curve(training.curve)) if training.kind == TrainingJob.Kind.BOOTSTRAP else None
        self._lease = lease
        self._clock = clock
        self._next = clock()

    def run(self, job: ChildJob[A, R], arguments: A, limits: Limits, cancel: Event) -> R:
        """Do `job` in a child. Raises what `run_child` does."""
        result = run_child(job, arguments, limits=limits, on_progress=self.show, on_unconfined=self.warn, cancel=cancel)
        self._write_curve()
        return result

    def show(self, progress: Progress) -> None:
        """Write it, or skip it for the next."""
        now = self._clock()
        if self._curve is not None:
            self._curve.add(progress, now)
        if now >= self._next:
            self._next = now + PROGRESS_EVERY
            record_progress(self._job_id, self._lease, progress, now)
            self._write_curve()

    def _write_curve(self) -> None:
        if self._curve is not None:
            record_curve(self._job_id, self._lease, self._curve)

    def warn(self, unconfined: Unconfined) -> None:
        """Record which confinements the job runs without."""
        record_unconfined(self._job_id, self._lease, unconfined, self._clock())
