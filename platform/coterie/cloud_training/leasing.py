"""The lease and the progress of a job: each change is a compare-and-set on the job's row."""

import uuid
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q, QuerySet

from coterie.child.job import Progress, Unconfined
from coterie.cloud_training.checkpoints import forget_checkpoints
from coterie.cloud_training.curve import Curve
from coterie.cloud_training.job_log import log, log_progress
from coterie.cloud_training.models import TrainingJob
from coterie.core.durable import Steps
from coterie.core.events import tell_consoles
from coterie.core.lease import extend_lease, lapsed, take_lease
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_wire.conditions import Reason

State = TrainingJob.State
MAX_ATTEMPTS = 3
MAX_AT_WORK = 2
"""Jobs done at the same time: each takes a worker for long, and rounds need workers too."""
STEPS = Steps(
    TrainingJob,
    ways={
        State.QUEUED: frozenset({State.CANCELLED}),
        State.RUNNING: frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED}),
    },
    app="cloud_training",
)
"""A job is running from when a worker takes its lease."""
HOPELESS = Q(attempts__gte=F("advanced_in") + MAX_ATTEMPTS)
"""So many workers died one after the other before the next checkpoint."""
GAVE_UP = Reason("cloud_training.gave_up", f"the worker died {MAX_ATTEMPTS} times while it did this")
MAX_CHARACTERS = 200
OF_SPEED = ("samples_per_second", "communication_share", "sent_bytes", "workers")
"""Figures that a curve shows and a sentence does not."""


@transaction.atomic
def take_job(job_id: uuid.UUID, lease: uuid.UUID, now: datetime) -> TrainingJob | None:
    """The job, leased to this worker; None if another holds it, it has ended, or enough are running."""
    at_work = TrainingJob.objects.filter(~lapsed(now), state=State.RUNNING).exclude(pk=job_id)
    if at_work.count() >= MAX_AT_WORK:
        return None
    waiting = TrainingJob.objects.filter(pk=job_id, state__in=TrainingJob.ACTIVE).exclude(HOPELESS)
    begun: dict[str, object] = {"started_at": now, "progress": 0.0, "progress_sentence": ""}
    if not take_lease(waiting, lease=lease, now=now, state=State.RUNNING, **begun):
        return None
    log(job_id, "a worker begins", now)
    tell_consoles("cloud_training")
    return TrainingJob.objects.select_related(
        "pair__device_program",
        "pair__cloud_program",
        "pair__train_step",
        "pair__predict",
        "pair__frozen",
        "dataset__blob",
    ).get(pk=job_id)


def hold_job(job_id: uuid.UUID, lease: uuid.UUID, now: datetime) -> bool:
    """Renew the lease; False if the job was cancelled or another worker has taken it."""
    return extend_lease(TrainingJob.objects.filter(pk=job_id, state=State.RUNNING), lease=lease, now=now)


def conclude_job(job_id: uuid.UUID, sentence: str) -> None:
    """Record the outcome of a job that is done."""
    TrainingJob.objects.filter(pk=job_id).update(progress_sentence=sentence[:MAX_CHARACTERS])
    tell_consoles("cloud_training")


def record_progress(job_id: uuid.UUID, lease: uuid.UUID, progress: Progress, now: datetime) -> None:
    """Record how far the job is."""
    figures = "".join(f", {name} {value:.4g}" for name, value in progress.values.items() if name not in OF_SPEED)
    steps = f" {progress.done} of {progress.total}" if progress.total else ""
    sentence = f"{progress.stage}{steps}{figures}"[:MAX_CHARACTERS]
    shown = _held(job_id, lease).update(
        progress=min(1.0, progress.done / progress.total) if progress.total else 0.0, progress_sentence=sentence
    )
    if shown:
        tell_consoles("cloud_training")
        log_progress(job_id, progress.stage, sentence, now)


def record_curve(job_id: uuid.UUID, lease: uuid.UUID, curve: Curve) -> None:
    """Record the epochs that are done; each has a checkpoint."""
    _held(job_id, lease).update(curve=curve.stored(), advanced_in=F("attempts"))


def record_unconfined(job_id: uuid.UUID, lease: uuid.UUID, unconfined: Unconfined, now: datetime) -> None:
    """Record which confinements the job runs without, because the system does not offer them."""
    without = " and ".join(unconfined.missing)[:MAX_CHARACTERS]
    if _held(job_id, lease).update(unconfined=without):
        log(job_id, f"it runs without {without}: the system does not allow it", now)


def succeed(job: TrainingJob, lease: uuid.UUID, now: datetime) -> bool:
    """End the job as succeeded; False if this worker's lease was lost."""
    ended = STEPS.take(job, State.SUCCEEDED, Q(lease_token=lease), reason=None, progress=1.0, **_end(now))
    if ended:
        forget_checkpoints(job.pk)
        log(job.pk, "it is done", now)
        announce(Event.JOB_SUCCEEDED, {"job": str(job.pk), "kind": job.kind, "pair": job.pair.slug}, now=now)
    return ended


def fail(job: TrainingJob, lease: uuid.UUID, reason: Reason, now: datetime) -> bool:
    """End the job as failed; False if this worker's lease was lost."""
    ended = STEPS.take(job, State.FAILED, Q(lease_token=lease), reason=reason, **_end(now))
    if ended:
        _tell_failure(job, reason, now)
    return ended


def cancel(job: TrainingJob, now: datetime) -> bool:
    """End the job on somebody's request; False if it has ended."""
    return STEPS.take_from_any(job, State.CANCELLED, reason=None, **_end(now))


@transaction.atomic
def give_up(now: datetime) -> list[TrainingJob]:
    """End the jobs whose workers died too often; returns those that this call ended."""
    hopeless = TrainingJob.objects.filter(HOPELESS, lapsed(now), state=State.RUNNING)
    given_up = [
        job
        for job in hopeless.select_related("pair")
        if STEPS.take(job, State.FAILED, lapsed(now), reason=GAVE_UP, **_end(now))
    ]
    for job in given_up:
        _tell_failure(job, GAVE_UP, now)
    return given_up


def _end(now: datetime) -> dict[str, object]:
    return {"finished_at": now, "lease_until": None}


def _tell_failure(job: TrainingJob, reason: Reason, now: datetime) -> None:
    log(job.pk, f"it failed: {reason.sentence} [{reason.code}]", now)
    reported = {"job": str(job.pk), "kind": job.kind, "pair": job.pair.slug, "code": reason.code}
    announce(Event.JOB_FAILED, {**reported, "sentence": reason.sentence}, now=now)


def _held(job_id: uuid.UUID, lease: uuid.UUID) -> QuerySet[TrainingJob]:
    return TrainingJob.objects.filter(pk=job_id, state=State.RUNNING, lease_token=lease)
