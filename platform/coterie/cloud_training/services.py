"""Changes to training jobs: requested, cancelled, retried, and found when they are overdue."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q

from coterie.audit.recording import audited
from coterie.cloud.errors import CannotSplit
from coterie.cloud.strategies import parse_strategy, strategy_document
from coterie.cloud.strategy import Splits, Strategy
from coterie.cloud_training.checkpoints import hand_on_checkpoints, jobs_with_checkpoints, keep_only
from coterie.cloud_training.errors import (
    DatasetDoesNotFit,
    JobHasEnded,
    JobHasNotFailed,
    NoCloudModel,
    NotADeviceModel,
    PairBusy,
    PairNotReady,
)
from coterie.cloud_training.jobs import RUN
from coterie.cloud_training.leasing import GAVE_UP, cancel, give_up
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import QuantiseOptions, TrainingOptions
from coterie.core.events import tell_consoles
from coterie.core.lease import lapsed
from coterie.registry.models import Dataset, ModelPair, ModelVersion, Role
from coterie.registry.selectors import champion, misfit
from coterie.registry.services import hold_version, reject_pair
from coterie_wire.conditions import Reason
from coterie_wire.structs import from_values

KEPT = timedelta(days=7)
"""How long a job that failed can be tried again from its last checkpoint."""
CANCELLED = Reason("cloud_training.cancelled", "an operator cancelled the pre-flight")


def check_pair(*, pair_id: UUID, now: datetime) -> None:
    """Have a submitted pair checked, unless a check was requested before."""
    pair = ModelPair.objects.filter(pk=pair_id, state=ModelPair.State.CHECKING).first()
    if pair is not None and not pair.jobs.exists():
        try:
            add_job(kind=TrainingJob.Kind.PREFLIGHT, pair=pair, dataset=None, options=TrainingOptions(), now=now)
        except PairBusy:
            return  # Another worker has requested it at the same time.


@audited("cloud_training.bootstrap_pair")
def bootstrap_pair(*, pair: ModelPair, dataset: Dataset, options: TrainingOptions, now: datetime) -> TrainingJob:
    """Train the pair's cloud model on a data set, then distil its first device model from it.

    Raises PairNotReady, PairBusy, DatasetDoesNotFit, CannotSplit, or WireError ``strategy.invalid``.
    """
    _check_fits(pair, dataset)
    strategy = parse_strategy(options.strategy)
    _check_splits(pair, strategy)
    options = msgspec.structs.replace(options, strategy=strategy_document(strategy))
    return add_job(kind=TrainingJob.Kind.BOOTSTRAP, pair=pair, dataset=dataset, options=options, now=now)


@audited("cloud_training.distill_pair")
def distill_pair(*, pair: ModelPair, dataset: Dataset, options: TrainingOptions, now: datetime) -> TrainingJob:
    """Make the pair's next device model from the cloud model in use, with a data set.

    Raises PairNotReady, PairBusy, DatasetDoesNotFit or NoCloudModel.
    """
    _check_fits(pair, dataset)
    if champion(pair.pk, Role.CLOUD) is None:
        raise NoCloudModel(pair=pair.slug)
    return add_job(kind=TrainingJob.Kind.DISTILL, pair=pair, dataset=dataset, options=options, now=now)


@audited("cloud_training.quantise_version")
def quantise_version(
    *, version: ModelVersion, dataset: Dataset, options: QuantiseOptions, now: datetime
) -> TrainingJob:
    """Make an int8 form of a version of a device model, measured on held-out samples: its card tells what came of it.

    Raises NotADeviceModel, PairNotReady, DatasetDoesNotFit, VersionRemoved or PairBusy.
    """
    if version.role != Role.DEVICE:
        raise NotADeviceModel(version=str(version.pk))
    _check_fits(version.pair, dataset)
    with transaction.atomic():
        hold_version(version)
        return add_job(
            kind=TrainingJob.Kind.QUANTISE,
            pair=version.pair,
            dataset=dataset,
            options=options,
            version=version,
            now=now,
        )


def _check_splits(pair: ModelPair, strategy: Strategy) -> None:
    """A pair that an older release checked does not tell: then the job itself does."""
    modules = pair.report.get("cloud_splits")
    if modules is not None:
        splits = Splits(from_values(modules, tuple[str, ...]), str(pair.report.get("cloud_obstacle", "")))
        if (problem := strategy.misfit_of(splits)) is not None:
            raise CannotSplit(problem=problem)


def _check_fits(pair: ModelPair, dataset: Dataset) -> None:
    if pair.state != ModelPair.State.READY:
        raise PairNotReady(pair=pair.slug, state=pair.state)
    problem = misfit(pair, dataset)
    if problem is not None:
        raise DatasetDoesNotFit(dataset=dataset.name, problem=problem)


def add_job(
    *,
    kind: TrainingJob.Kind,
    pair: ModelPair,
    dataset: Dataset | None,
    options: TrainingOptions | QuantiseOptions,
    now: datetime,
    version: ModelVersion | None = None,
) -> TrainingJob:
    """A job that waits for a worker. Raises PairBusy."""
    try:
        with transaction.atomic():
            job = TrainingJob.objects.create(
                kind=kind,
                pair=pair,
                dataset=dataset,
                version=version,
                options=msgspec.to_builtins(options),
                created_at=now,
            )
            RUN.send(job=str(job.pk))
            tell_consoles("cloud_training")
    except IntegrityError as error:
        raise PairBusy(pair=pair.slug) from error
    return job


@audited("cloud_training.cancel_job", subject="job")
def cancel_job(*, job: TrainingJob, now: datetime) -> None:
    """Stop a job; its child process ends within seconds. A pair whose pre-flight is cancelled is rejected.

    Raises JobHasEnded.
    """
    if not cancel(job, now):
        raise JobHasEnded(job=str(job.pk), state=job.state)
    if job.kind == TrainingJob.Kind.PREFLIGHT:
        reject_pair(pair=job.pair, reason=CANCELLED, now=now)


@audited("cloud_training.retry_job")
def retry_job(*, job: TrainingJob, now: datetime) -> TrainingJob:
    """Run what failed or was cancelled again, as a new job that goes on from its last checkpoint.

    Raises JobHasNotFailed or PairBusy.
    """
    if job.state not in (TrainingJob.State.FAILED, TrainingJob.State.CANCELLED) or (
        job.kind == TrainingJob.Kind.PREFLIGHT
    ):
        raise JobHasNotFailed(job=str(job.pk), state=job.state)
    kind = TrainingJob.Kind(job.kind)
    options: TrainingOptions | QuantiseOptions
    if kind == TrainingJob.Kind.QUANTISE:
        options = from_values(job.options, QuantiseOptions)
    else:
        options = from_values(job.options, TrainingOptions)
    with transaction.atomic():
        again = add_job(kind=kind, pair=job.pair, dataset=job.dataset, options=options, version=job.version, now=now)
        hand_on_checkpoints(job.pk, again.pk)
    return again


def sweep(*, now: datetime) -> None:
    """Request again what no worker does: pairs that wait to be checked, jobs that are queued or whose worker died.

    The checkpoints of jobs that ended are removed: at once of those that succeeded, after a week of the others.
    """
    unasked = ModelPair.objects.filter(
        ~Exists(TrainingJob.objects.filter(pair=OuterRef("pk"))), state=ModelPair.State.CHECKING
    )
    for pair in unasked:
        check_pair(pair_id=pair.pk, now=now)
    for job in give_up(now):
        if job.kind == TrainingJob.Kind.PREFLIGHT:
            reject_pair(pair=job.pair, reason=GAVE_UP, now=now)
    if found := jobs_with_checkpoints():
        ended = Q(state__in=(TrainingJob.State.FAILED, TrainingJob.State.CANCELLED), finished_at__gte=now - KEPT)
        wanted = TrainingJob.objects.filter(Q(state__in=TrainingJob.ACTIVE) | ended, pk__in=found)
        keep_only(wanted.values_list("pk", flat=True))
    due = Q(state=TrainingJob.State.QUEUED) | Q(lapsed(now), state=TrainingJob.State.RUNNING)
    for job in TrainingJob.objects.filter(due):
        with transaction.atomic():
            RUN.send(job=str(job.pk))
