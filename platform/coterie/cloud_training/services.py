"""Changes to training jobs: requested, cancelled, retried, and found when they are overdue."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q

from coterie.audit.recording import audited
from coterie.cloud.errors import CannotSplit
from coterie.cloud.rehearsal_job import LARGE
from coterie.cloud.strategies import DEFAULT_STRATEGY, parse_strategy, strategy_document
from coterie.cloud.strategy import Splits, Strategy
from coterie.cloud_training.checkpoints import jobs_with_checkpoints, keep_only, pass_on_checkpoints
from coterie.cloud_training.errors import (
    AlreadySimulated,
    DatasetDoesNotFit,
    JobHasEnded,
    JobHasNotFailed,
    NoCloudModel,
    NotADeviceModel,
    NotCompiled,
    PairBusy,
    PairNotReady,
)
from coterie.cloud_training.jobs import PLACE, RUN
from coterie.cloud_training.leasing import GAVE_UP, cancel, give_up
from coterie.cloud_training.models import TrainingJob
from coterie.cloud_training.options import Options, QuantiseOptions, SimulationOptions, TrainingOptions
from coterie.cluster.models import queue_of
from coterie.cluster.selectors import active_gangs
from coterie.cluster.services import GangPlacement, add_gang, give_place_back, place_gangs, place_of, tidy
from coterie.core.acting import current_actor
from coterie.core.events import notify_consoles
from coterie.core.lease import lapsed
from coterie.core.resting import LONGEST_S
from coterie.core.separation import check_together
from coterie.core.why import cancellation
from coterie.federations.models import Federation
from coterie.registry.models import Blob, Dataset, ModelPair, ModelVersion, Role
from coterie.registry.selectors import champion, misfit
from coterie.registry.services import hold_version, reject_pair
from coterie_learning.plan import parse_plan
from coterie_wire.conditions import Reason
from coterie_wire.structs import from_values

ASKED_AGAIN_S = 20.0
"""Seconds after which a host that did not answer the request to lead a gang is asked again."""
BEHIND_ALL = -1
"""Priority of jobs that no fleet waits for."""
KEPT = timedelta(days=7)
"""How long a failed job can be retried from its last checkpoint."""
OPTIONS: Mapping[TrainingJob.Kind, type[Options]] = {
    TrainingJob.Kind.QUANTISE: QuantiseOptions,
    TrainingJob.Kind.SIMULATION: SimulationOptions,
}
"""Of the kinds that have their own options."""
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

    Raises PairNotReady, PairBusy, DatasetDoesNotFit, CannotSplit, NotCompiled, or WireError ``strategy.invalid``.
    """
    _check_fits(pair, dataset)
    strategy = parse_strategy(options.strategy)
    _check_splits(pair, strategy)
    if options.compiled and not strategy.compiles:
        raise NotCompiled
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
    """Make an int8 form of a version of a device model, measured on held-out samples; its card shows the result.

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


def simulate_plan(
    *,
    federation: Federation,
    dataset: Dataset | None,
    fleet: Blob | None,
    options: SimulationOptions,
    now: datetime,
) -> TrainingJob:
    """Try a plan of the federation on a simulated fleet, from the version that devices have.

    `dataset` is none where the options name a scenario, `fleet` where they name a profile. A plan whose devices and
    cloud teach each other gets the federation's cloud model and cloud data. Raises PairNotReady, DatasetDoesNotFit,
    NoCloudModel or AlreadySimulated.
    """
    _check_ready(federation.pair)
    if dataset is not None:
        _check_fits(federation.pair, dataset)
    version = champion(federation.pair_id, Role.DEVICE, federation.lineage())
    if parse_plan(options.plan).needs_cloud_model:
        cloud = champion(federation.pair_id, Role.CLOUD, federation.lineage())
        if cloud is None:
            raise NoCloudModel(pair=federation.pair.slug)
        options = msgspec.structs.replace(options, cloud_version=str(cloud.pk))
    with transaction.atomic():
        if version is not None:
            hold_version(version)
        return add_job(
            kind=TrainingJob.Kind.SIMULATION,
            pair=federation.pair,
            dataset=dataset,
            options=options,
            version=version,
            federation=federation,
            fleet=fleet,
            now=now,
        )


def _check_splits(pair: ModelPair, strategy: Strategy) -> None:
    """The splits of a pair that an older release checked are unknown: then the job itself checks them."""
    modules = pair.report.get("cloud_splits")
    if modules is not None:
        splits = Splits(from_values(modules, tuple[str, ...]), str(pair.report.get("cloud_obstacle", "")))
        if (problem := strategy.misfit_of(splits)) is not None:
            raise CannotSplit(problem=problem)


def _check_fits(pair: ModelPair, dataset: Dataset) -> None:
    _check_ready(pair)
    check_together(pair, dataset)
    problem = misfit(pair, dataset)
    if problem is not None:
        raise DatasetDoesNotFit(dataset=dataset.name, problem=problem)


def _check_ready(pair: ModelPair) -> None:
    if pair.state != ModelPair.State.READY:
        raise PairNotReady(pair=pair.slug, state=pair.state)


def add_job(
    *,
    kind: TrainingJob.Kind,
    pair: ModelPair,
    dataset: Dataset | None,
    options: Options,
    now: datetime,
    version: ModelVersion | None = None,
    federation: Federation | None = None,
    fleet: Blob | None = None,
) -> TrainingJob:
    """Create a job that waits for its workers. Raises PairBusy, or for a simulation AlreadySimulated."""
    try:
        with transaction.atomic():
            job = TrainingJob.objects.create(
                kind=kind,
                pair=pair,
                dataset=dataset,
                version=version,
                federation=federation,
                fleet=fleet,
                options=msgspec.to_builtins(options),
                asked_by=current_actor().name,
                created_at=now,
            )
            _ask_for_workers(job, now)
            PLACE.send()
            notify_consoles("cloud_training")
    except IntegrityError as error:
        if federation is not None:
            raise AlreadySimulated(federation=federation.slug) from error
        raise PairBusy(pair=pair.slug) from error
    return job


def _ask_for_workers(job: TrainingJob, now: datetime) -> None:
    """As many as its strategy has; the other kinds are one process, and simulations make room for all others.

    A large gang is first tried by one process.
    """
    options = TrainingOptions()
    if job.kind in (TrainingJob.Kind.BOOTSTRAP, TrainingJob.Kind.DISTILL):
        options = from_values(job.options, TrainingOptions)
    is_spread = job.kind == TrainingJob.Kind.BOOTSTRAP
    strategy = parse_strategy(options.strategy if is_spread else DEFAULT_STRATEGY)
    is_tried = strategy.count >= LARGE and not job.rehearsed
    add_gang(
        job=job.pk,
        label=str(job),
        ranks=1 if is_tried else strategy.count,
        spreads=strategy.spreads,
        team=options.team,
        launcher="" if not is_spread or options.launcher == "any" else options.launcher,
        device=options.device if is_spread else "cores",
        priority=BEHIND_ALL if job.kind == TrainingJob.Kind.SIMULATION else options.priority,
        small=is_tried or job.kind == TrainingJob.Kind.PREFLIGHT,
        now=now,
    )


def place_jobs(*, now: datetime) -> float:
    """Find places for the jobs that wait, and ask the hosts that lead; repeatedly where one does not begin.

    Returns the seconds for which no job waits and none has a place.
    """
    if not (TrainingJob.objects.filter(state__in=TrainingJob.ACTIVE).exists() or active_gangs().exists()):
        return LONGEST_S
    with transaction.atomic():
        starts = {start.job: start.place for start in place_gangs(quotas=settings.CLUSTER_QUOTAS, now=now)}
        due = Q(state=TrainingJob.State.QUEUED) | Q(lapsed(now), state=TrainingJob.State.RUNNING)
        for job in TrainingJob.objects.filter(due):
            place = starts.get(job.pk) or place_of(job.pk)
            if place is None:
                continue
            if job.state == TrainingJob.State.RUNNING and job.placement == place.placement:
                # Its leader died, and the shares of other hosts with it.
                give_place_back(job=job.pk, placement=place.placement, now=now)
                PLACE.send()
                continue
            _ask_lead(job, place)
    return 0.0


def _ask_lead(job: TrainingJob, place: GangPlacement) -> None:
    RUN.send_to(queue_of(place.lead), expires_s=ASKED_AGAIN_S, job=str(job.pk), placement=place.placement)


@audited("cloud_training.cancel_job", subject="job")
def cancel_job(*, job: TrainingJob, why: str = "", now: datetime) -> None:
    """Stop a job; its child process ends within seconds.

    A pair whose pre-flight is cancelled is rejected. `why` is part of its reason. Raises JobHasEnded.
    """
    if not cancel(job, cancellation("cloud_training.cancelled", why), now):
        raise JobHasEnded(job=str(job.pk), state=job.state)
    if job.kind == TrainingJob.Kind.PREFLIGHT:
        reject_pair(pair=job.pair, reason=CANCELLED, now=now)


@audited("cloud_training.retry_job")
def retry_job(*, job: TrainingJob, now: datetime) -> TrainingJob:
    """Run a failed or cancelled job again, as a new job that resumes from its last checkpoint.

    Raises JobHasNotFailed, PairBusy or AlreadySimulated.
    """
    if job.state not in (TrainingJob.State.FAILED, TrainingJob.State.CANCELLED) or (
        job.kind == TrainingJob.Kind.PREFLIGHT
    ):
        raise JobHasNotFailed(job=str(job.pk), state=job.state)
    kind = TrainingJob.Kind(job.kind)
    with transaction.atomic():
        again = add_job(
            kind=kind,
            pair=job.pair,
            dataset=job.dataset,
            options=from_values(job.options, OPTIONS.get(kind, TrainingOptions)),
            version=job.version,
            federation=job.federation,
            fleet=job.fleet,
            now=now,
        )
        pass_on_checkpoints(job.pk, again.pk)
    return again


def sweep(*, now: datetime) -> float:
    """Find overdue work: pairs that wait for their check, jobs without a gang, gangs without a job.

    The checkpoints of jobs that ended are removed: at once of those that succeeded, after a week of the others. Returns
    the seconds for which there is nothing else to do.
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
    active = TrainingJob.objects.filter(state__in=TrainingJob.ACTIVE)
    for job in active.select_related("pair"):
        _ask_for_workers(job, now)  # one of an older release, which requested none
    jobs = list(active.values_list("pk", flat=True))
    tidy(active_jobs=jobs, now=now)
    return 0.0 if jobs or unasked.exists() else LONGEST_S
