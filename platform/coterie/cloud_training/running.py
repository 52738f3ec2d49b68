"""Does a training job in a child process, under a lease, and ends it in one transaction with its result."""

import logging
import tempfile
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from django.db import transaction

from coterie.child.errors import Cancelled
from coterie.child.job import Progress
from coterie.child.run import run_child
from coterie.cloud import bootstrap_job, distill_job, preflight_job
from coterie.cloud_training import work
from coterie.cloud_training.leasing import fail, hold_job, record_progress, succeed, take_job
from coterie.cloud_training.models import TrainingJob
from coterie.core.errors import CoterieError
from coterie.core.lease import Heartbeat
from coterie.registry.services import reject_pair
from coterie_wire.conditions import Reason

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
PROGRESS_EVERY = timedelta(seconds=0.5)


def run_job(*, job_id: uuid.UUID, clock: Clock) -> None:
    """Do a job, unless it is being done or has ended. If it is cancelled meanwhile, nothing comes of it."""
    lease = uuid.uuid4()
    job = take_job(job_id, lease, clock())
    if job is None:
        return
    shown = _Shown(job_id, lease, clock)
    with (
        tempfile.TemporaryDirectory(prefix="coterie-job-") as directory,
        Heartbeat(lambda: hold_job(job_id, lease, clock())) as heartbeat,
    ):
        try:
            finish = _do(job, Path(directory), shown, heartbeat, clock)
        except Cancelled:
            logger.info("%s was cancelled", job)
            return
        except CoterieError as error:
            _fail(job, lease, error, clock())
            return
        with transaction.atomic():
            if succeed(job, lease, clock()):
                finish(clock())
    logger.info("%s is done", job)


def _do(job: TrainingJob, directory: Path, shown: "_Shown", heartbeat: Heartbeat, clock: Clock) -> work.Finish:
    """Run the child and keep its files; what is left to do is to change the registry."""
    cancel = heartbeat.lost
    match TrainingJob.Kind(job.kind):
        case TrainingJob.Kind.PREFLIGHT:
            check = work.preflight_arguments(job, directory)
            checked = run_child(
                preflight_job.JOB, check, limits=preflight_job.LIMITS, on_progress=shown.show, cancel=cancel
            )
            return work.accept(job, check, checked, clock())
        case TrainingJob.Kind.BOOTSTRAP:
            train = work.bootstrap_arguments(job, directory)
            trained = run_child(
                bootstrap_job.JOB, train, limits=work.TRAINING_LIMITS, on_progress=shown.show, cancel=cancel
            )
            return work.publish_cloud(job, train, trained, clock())
        case TrainingJob.Kind.DISTILL:
            distil = work.distill_arguments(job, directory)
            distilled = run_child(
                distill_job.JOB, distil, limits=work.TRAINING_LIMITS, on_progress=shown.show, cancel=cancel
            )
            return work.publish_device(job, distil, distilled, clock())


@transaction.atomic
def _fail(job: TrainingJob, lease: uuid.UUID, error: CoterieError, now: datetime) -> None:
    """What a program does to its pre-flight is the program's fault, also that it crashes or takes too much."""
    reason = Reason(error.code, str(error)[:400])
    logger.warning("%s failed: %s", job, reason.sentence)
    if fail(job, lease, reason, now) and job.kind == TrainingJob.Kind.PREFLIGHT:
        reject_pair(pair=job.pair, reason=reason, fields=error.fields)


class _Shown:
    """Writes progress to the job's row, not more often than people can follow."""

    def __init__(self, job_id: uuid.UUID, lease: uuid.UUID, clock: Clock) -> None:
        self._job_id = job_id
        self._lease = lease
        self._clock = clock
        self._next = clock()

    def show(self, progress: Progress) -> None:
        """Write it, or pass it over for the next."""
        now = self._clock()
        if now >= self._next:
            self._next = now + PROGRESS_EVERY
            record_progress(self._job_id, self._lease, progress, now)
