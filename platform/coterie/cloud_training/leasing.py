"""The lease and the progress of a job: each change is a compare-and-set on the job's row."""

import uuid
from datetime import datetime

import msgspec
from django.db import transaction
from django.db.models import F, Q, QuerySet

from coterie.child.job import Progress, Unconfined
from coterie.cloud.launch.gang import GangStatus
from coterie.cloud.simulation_job import LEFT_S, SAVED, SimulationResult
from coterie.cloud.strategy import Strategy
from coterie.cloud_training.checkpoints import delete_checkpoints
from coterie.cloud_training.curve import Curve
from coterie.cloud_training.job_log import log, log_progress
from coterie.cloud_training.jobs import PLACE
from coterie.cloud_training.models import TrainingJob
from coterie.cluster.services import GangPlacement, end_gang, give_place_back, grow, holds_place, put_off, try_again
from coterie.core.durable import MAX_SENTENCE, Steps, reason_columns
from coterie.core.events import notify_consoles
from coterie.core.lease import extend_lease, lapsed, take_lease
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_wire.conditions import Reason

State = TrainingJob.State
MAX_ATTEMPTS = 3
STEPS = Steps(
    TrainingJob,
    ways={
        State.QUEUED: frozenset({State.CANCELLED}),
        State.RUNNING: frozenset({State.QUEUED, State.SUCCEEDED, State.FAILED, State.CANCELLED}),
    },
    app="cloud_training",
)
"""A job is running once a worker has its lease, and queued again when its gang loses its places."""
HOPELESS = Q(attempts__gte=F("advanced_in") + MAX_ATTEMPTS)
"""So many workers died in a row without a new checkpoint."""
GAVE_UP = Reason("cloud_training.gave_up", f"the worker died {MAX_ATTEMPTS} times while it did this")
MAX_CHARACTERS = 200
NOT_IN_SENTENCE = ("samples_per_second", "communication_share", "sent_bytes", "workers", LEFT_S, SAVED)
"""Figures that a sentence does not show: they are in the curve or the job's row."""


@transaction.atomic
def take_job(job_id: uuid.UUID, lease: uuid.UUID, now: datetime, *, place: GangPlacement) -> TrainingJob | None:
    """The job, leased to this worker where its gang is placed; None if another worker holds it, or it has ended."""
    if not holds_place(job_id, place.placement, now):
        return None
    waiting = TrainingJob.objects.filter(pk=job_id, state__in=TrainingJob.ACTIVE).exclude(HOPELESS)
    begun: dict[str, object] = {
        "started_at": now,
        "progress": 0.0,
        "progress_sentence": "",
        "placement": place.placement,
        "launcher": "",
        "launcher_state": "",
        "launcher_sentence": "",
        **reason_columns(None),
    }
    if not take_lease(waiting, lease=lease, now=now, state=State.RUNNING, **begun):
        return None
    log(job_id, f"it begins on {' and '.join(share.host for share in place.shares)}", now)
    notify_consoles("cloud_training")
    return TrainingJob.objects.select_related(
        "pair__device_program",
        "pair__cloud_program",
        "pair__train_step",
        "pair__predict",
        "pair__frozen",
        "dataset__blob",
        "version__parameters",
        "federation",
        "fleet",
    ).get(pk=job_id)


def hold_job(job_id: uuid.UUID, lease: uuid.UUID, now: datetime) -> bool:
    """Renew the lease; False if the job was cancelled or another worker has taken it."""
    return extend_lease(TrainingJob.objects.filter(pk=job_id, state=State.RUNNING), lease=lease, now=now)


@transaction.atomic
def put_back(job: TrainingJob, lease: uuid.UUID, now: datetime) -> bool:
    """Queue a job again that was told to make room, or that lost a host.

    False if it was cancelled, or another worker has taken it.
    """
    told = Reason("cloud_training.put_back", "its workers gave their places back; it goes on from its last checkpoint")
    # The job is not to blame, so it does not count among the attempts that died.
    changes = {"lease_until": None, "attempts": F("attempts") - 1}
    if not STEPS.take(job, State.QUEUED, Q(lease_token=lease), reason=told, **changes):
        return False
    give_place_back(job=job.pk, placement=job.placement, now=now)
    log(job.pk, told.sentence, now)
    PLACE.send()
    return True


@transaction.atomic
def postpone(job: TrainingJob, lease: uuid.UUID, lack: Reason, now: datetime) -> None:
    """Have a job wait until the missing resource may be available again, unless it was cancelled. It is not to
    blame.
    """
    job.refresh_from_db(from_queryset=TrainingJob.objects.select_for_update(no_key=True))
    if job.state != State.RUNNING or job.lease_token != lease:
        return
    told = put_off(job=job.pk, placement=job.placement, lack=lack, now=now) or lack
    STEPS.take(job, State.QUEUED, Q(lease_token=lease), reason=told, lease_until=None, attempts=F("attempts") - 1)
    log(job.pk, told.sentence, now)


@transaction.atomic
def go_on_as_gang(job: TrainingJob, lease: uuid.UUID, strategy: Strategy, told: str, now: datetime) -> None:
    """Queue a job that one process has tried for the places of all its workers, unless it was cancelled."""
    changes = {"lease_until": None, "attempts": F("attempts") - 1, "rehearsed": True}
    if STEPS.take(job, State.QUEUED, Q(lease_token=lease), reason=None, **changes):
        grow(job=job.pk, placement=job.placement, ranks=strategy.count, spreads=strategy.spreads, now=now)
        log(job.pk, told, now)
        PLACE.send()


@transaction.atomic
def fail_or_retry(job: TrainingJob, lease: uuid.UUID, reason: Reason, now: datetime) -> bool:
    """End the job as failed, or queue it again where failures of this kind are temporary.

    A pre-flight is never retried. False if it waits, or if this worker's lease was lost.
    """
    job.refresh_from_db(from_queryset=TrainingJob.objects.select_for_update(no_key=True))
    held = job.state == State.RUNNING and job.lease_token == lease
    may_retry = job.kind != TrainingJob.Kind.PREFLIGHT and job.attempts < job.advanced_in + MAX_ATTEMPTS
    advanced = job.advanced_in == job.attempts
    retry = None
    if held and may_retry:
        retry = try_again(job=job.pk, placement=job.placement, failure=reason, advanced=advanced, now=now)
    if retry is None:
        return fail(job, lease, reason, now)
    told = Reason(reason.code, f"it is tried again in {retry.wait_s:g} s, after: {reason.sentence}"[:MAX_SENTENCE])
    STEPS.take(job, State.QUEUED, Q(lease_token=lease), reason=told, lease_until=None)
    log(job.pk, told.sentence, now)
    return False


def record_found(job_id: uuid.UUID, lease: uuid.UUID, found: SimulationResult) -> None:
    """Record the results of a simulation, before it ends."""
    _held(job_id, lease).update(found=msgspec.to_builtins(found), **msgspec.to_builtins(found.figures()))


def conclude_job(job_id: uuid.UUID, sentence: str) -> None:
    """Record the outcome of a job that is done."""
    TrainingJob.objects.filter(pk=job_id).update(progress_sentence=sentence[:MAX_CHARACTERS])
    notify_consoles("cloud_training")


def record_progress(job_id: uuid.UUID, lease: uuid.UUID, progress: Progress, now: datetime) -> None:
    """Record the progress of the job."""
    figures = "".join(f", {name} {value:.4g}" for name, value in progress.values.items() if name not in NOT_IN_SENTENCE)
    steps = f" {progress.done} of {progress.total}" if progress.total else ""
    sentence = f"{progress.stage}{steps}{figures}"[:MAX_CHARACTERS]
    advanced = {"advanced_in": F("attempts")} if SAVED in progress.values else {}
    shown = _held(job_id, lease).update(
        progress=min(1.0, progress.done / progress.total) if progress.total else 0.0,
        progress_sentence=sentence,
        left_s=progress.values.get(LEFT_S),
        **advanced,
    )
    if shown:
        notify_consoles("cloud_training")
        log_progress(job_id, progress.stage, sentence, now)


def record_curve(job_id: uuid.UUID, lease: uuid.UUID, curve: Curve) -> None:
    """Record the epochs that are done; each has a checkpoint."""
    _held(job_id, lease).update(curve=curve.stored(), advanced_in=F("attempts"))


def record_unconfined(job_id: uuid.UUID, lease: uuid.UUID, unconfined: Unconfined, now: datetime) -> None:
    """Record which confinements the job runs without, because the system does not offer them."""
    without = " and ".join(unconfined.missing)[:MAX_CHARACTERS]
    if _held(job_id, lease).update(unconfined=without):
        log(job_id, f"it runs without {without}: the system does not allow it", now)


def record_launcher(job_id: uuid.UUID, lease: uuid.UUID, launcher: str, status: GangStatus, now: datetime) -> None:
    """Record the launcher of the job's workers, and their status there."""
    sentence = status.detail[:MAX_CHARACTERS]
    changed = {"launcher": launcher, "launcher_state": status.state, "launcher_sentence": sentence}
    if _held(job_id, lease).update(**changed):
        log(job_id, f"{launcher}: {status.state}{f', {sentence}' if sentence else ''}", now)
        notify_consoles("cloud_training")


def succeed(job: TrainingJob, lease: uuid.UUID, now: datetime) -> bool:
    """End the job as succeeded; False if this worker's lease was lost."""
    ended = STEPS.take(job, State.SUCCEEDED, Q(lease_token=lease), reason=None, progress=1.0, **_end(now))
    if ended:
        _free(job.pk, now)
        delete_checkpoints(job.pk)
        log(job.pk, "it is done", now)
        announce(Event.JOB_SUCCEEDED, {"job": str(job.pk), "kind": job.kind, "pair": job.pair.slug}, about=job, now=now)
    return ended


def fail(job: TrainingJob, lease: uuid.UUID, reason: Reason, now: datetime) -> bool:
    """End the job as failed; False if this worker's lease was lost."""
    ended = STEPS.take(job, State.FAILED, Q(lease_token=lease), reason=reason, **_end(now))
    if ended:
        _free(job.pk, now)
        _log_failure(job, reason, now)
    return ended


def cancel(job: TrainingJob, reason: Reason, now: datetime) -> bool:
    """End the job on a person's request; False if it has ended."""
    ended = STEPS.take_from_any(job, State.CANCELLED, reason=reason, **_end(now))
    if ended:
        _free(job.pk, now)
    return ended


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
        _free(job.pk, now)
        _log_failure(job, GAVE_UP, now)
    return given_up


def _free(job_id: uuid.UUID, now: datetime) -> None:
    end_gang(job=job_id, now=now)
    PLACE.send()


def _end(now: datetime) -> dict[str, object]:
    return {"finished_at": now, "lease_until": None, "left_s": None}


def _log_failure(job: TrainingJob, reason: Reason, now: datetime) -> None:
    log(job.pk, f"it failed: {reason.sentence} [{reason.code}]", now)
    reported = {"job": str(job.pk), "kind": job.kind, "pair": job.pair.slug, "code": reason.code}
    announce(Event.JOB_FAILED, {**reported, "sentence": reason.sentence}, about=job, now=now)


def _held(job_id: uuid.UUID, lease: uuid.UUID) -> QuerySet[TrainingJob]:
    return TrainingJob.objects.filter(pk=job_id, state=State.RUNNING, lease_token=lease)
