"""Changes to federations: they are created, changed, started, paused and finished."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TypedDict, Unpack, cast

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from coterie.audit.recording import audited
from coterie.core.durable import reason_columns
from coterie.core.given import save_given
from coterie.core.names import checked_name
from coterie.core.separation import check_together
from coterie.federations.errors import (
    Archived,
    CloudDataDoesNotFit,
    HeldOutDoesNotFit,
    NameTaken,
    NothingToBeginWith,
    NoVersionsOfItsOwn,
    PairArchived,
    PairInUse,
    PairNotReady,
    PlanChanged,
    PlanDoesNotFit,
    StillGoingOn,
    WrongState,
)
from coterie.federations.jobs import ADVANCE
from coterie.federations.models import Federation
from coterie.fleet.services import checked_tags
from coterie.registry.models import BASE, Alias, Dataset, ModelPair, ModelVersion, Role
from coterie.registry.selectors import champion, misfit
from coterie.registry.services import copy_champion
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_learning.kinds import Resources
from coterie_learning.plan import Plan, parse_plan, plan_document

TOLD = {
    Federation.State.RUNNING: Event.FEDERATION_STARTED,
    Federation.State.PAUSED: Event.FEDERATION_PAUSED,
    Federation.State.FINISHED: Event.FEDERATION_FINISHED,
}


class Terms(TypedDict, total=False):
    """By what candidates are judged; see the federation's columns."""

    tolerance: float
    patience: int | None
    attempts: int


@audited("federations.create_federation")
def create_federation(
    *,
    name: str,
    pair: ModelPair,
    plan: object,
    device_tag: str = "",
    held_out: Dataset | None = None,
    cloud_data: Dataset | None = None,
    tolerance: float = 0.02,
    patience: int | None = None,
    attempts: int = 5,
    own_versions: bool = False,
    seed: int = 0,
    rounds_wanted: int | None = None,
    notes: str = "",
    now: datetime,
) -> Federation:
    """Create a federation, which waits to be started.

    Raises WireError ``plan.invalid`` or ``plan.unknown_kind``, NameTaken, PairNotReady, PairArchived, BadName, BadTag,
    HeldOutDoesNotFit, CloudDataDoesNotFit or PlanDoesNotFit.
    """
    if device_tag:
        checked_tags([device_tag])
    if pair.state != ModelPair.State.READY:
        raise PairNotReady(pair=pair.slug, state=pair.state)
    if pair.archived_at is not None:
        raise PairArchived(pair=pair.slug)
    if held_out is not None and (problem := misfit(pair, held_out)) is not None:
        raise HeldOutDoesNotFit(dataset=held_out.name, problem=problem)
    if cloud_data is not None and (problem := misfit(pair, cloud_data)) is not None:
        raise CloudDataDoesNotFit(dataset=cloud_data.name, problem=problem)
    check_together(pair, held_out, cloud_data)
    parsed = parse_plan(plan)
    check_plan_fits(parsed, pair, cloud_data)
    slug = slugify(name)[:100] or "federation"
    try:
        with transaction.atomic():
            return Federation.objects.create(
                name=checked_name(name),
                slug=slug,
                project_id=pair.project_id,
                pair=pair,
                plan=plan_document(parsed),
                device_tag=device_tag,
                held_out=held_out,
                cloud_data=cloud_data,
                tolerance=tolerance,
                patience=patience,
                attempts=attempts,
                own_versions=own_versions,
                seed=seed,
                rounds_wanted=rounds_wanted,
                notes=notes,
                created_at=now,
            )
    except IntegrityError as error:
        raise NameTaken(slug=slug) from error


@audited("federations.change_plan", subject="federation")
def change_plan(*, federation: Federation, plan: object, instead_of: object = None) -> None:
    """Change the plan from the next round on; the round that is open keeps its own.

    `instead_of` is the plan that `plan` was made from; None: whichever there is. Raises PlanChanged where it is another
    one by now, WireError ``plan.invalid`` or ``plan.unknown_kind``, or PlanDoesNotFit.
    """
    held = Federation.objects.select_for_update(no_key=True).get(pk=federation.pk)
    if instead_of is not None and not _is_same_plan(instead_of, held.plan):
        raise PlanChanged(federation=federation.slug)
    parsed = parse_plan(plan)
    check_plan_fits(parsed, federation.pair, federation.cloud_data)
    federation.plan, federation.kept_back = plan_document(parsed), 0
    federation.save(update_fields=["plan", "kept_back"])


def _is_same_plan(one: object, stored: object) -> bool:
    """Whether both say the same; either may leave out hyperparameters that have their defaults."""
    return one == stored or parse_plan(one) == parse_plan(stored)


@audited("federations.change_terms", subject="federation")
def change_terms(*, federation: Federation, **given: Unpack[Terms]) -> None:
    """Change the terms by which candidates are judged, from the next merge on; what is left out stays."""
    for name, value in given.items():
        setattr(federation, name, value)
    federation.kept_back = 0
    federation.save(update_fields=[*given, "kept_back"])
    federation.refresh_from_db()


@audited("federations.describe_federation", subject="federation")
def describe_federation(*, federation: Federation, name: str | None = None, notes: str | None = None) -> None:
    """Change its name or notes; None: unchanged. Its slug and lineages stay. Raises BadName."""
    save_given(federation, name=None if name is None else checked_name(name), notes=notes)


@audited("federations.archive_federation", subject="federation")
def archive_federation(*, federation: Federation, now: datetime) -> None:
    """Archive a federation that holds no rounds: lists leave it out, its history stays. Raises StillGoingOn."""
    held = Federation.objects.select_for_update(no_key=True).get(pk=federation.pk)
    if held.state not in (Federation.State.DRAFT, Federation.State.FINISHED):
        raise StillGoingOn(federation=held.slug, state=held.state)
    federation.set_archived(now)


@audited("federations.restore_federation", subject="federation")
def restore_federation(*, federation: Federation) -> None:
    """Have lists show an archived federation again."""
    federation.set_archived(None)


def _pair_champion(arguments: Mapping[str, object]) -> Alias | None:
    """The alias that changes when a federation's versions become the pair's."""
    federation = cast(Federation, arguments["federation"])
    return Alias.objects.filter(
        pair=federation.pair_id, role=Role.DEVICE, lineage=BASE, name=Alias.Name.CHAMPION
    ).first()


@audited("federations.start_federation", subject="federation")
def start_federation(*, federation: Federation, now: datetime) -> None:
    """Hold rounds from now on; nothing happens if it does already.

    One with versions of its own begins with the pair's. Raises Archived, WrongState, PairInUse or NothingToBeginWith.
    """
    if federation.archived_at is not None:
        raise Archived(federation=federation.slug)
    if federation.own_versions and federation.state != Federation.State.FINISHED:
        _begin_versions(federation, now)
    try:
        _move(federation, to=Federation.State.RUNNING, among=("draft", "paused", "running"), now=now)
    except IntegrityError as error:
        raise PairInUse(pair=federation.pair.slug) from error


@audited("federations.pause_federation", subject="federation")
def pause_federation(*, federation: Federation, now: datetime) -> None:
    """Open no further round. Raises WrongState."""
    _move(federation, to=Federation.State.PAUSED, among=("running", "paused"), now=now)


@audited("federations.finish_federation", subject="federation")
def finish_federation(*, federation: Federation, now: datetime) -> None:
    """Open no further round, for good; the pair is free for another federation. Raises WrongState."""
    _move(federation, to=Federation.State.FINISHED, among=("draft", "running", "paused", "finished"), now=now)


@audited("federations.adopt_versions", subject=_pair_champion)
def adopt_versions(*, federation: Federation, now: datetime) -> list[ModelVersion]:
    """Make the latest versions of a federation with versions of its own the pair's, as the winner of a trial.

    Those of its groups stay its own. Raises NoVersionsOfItsOwn or VersionRemoved.
    """
    if not federation.own_versions or champion(federation.pair_id, Role.DEVICE, federation.lineage()) is None:
        raise NoVersionsOfItsOwn(federation=federation.slug)
    _lock(federation)
    return _copied(federation, source=federation.lineage(), target=BASE, now=now)


def _begin_versions(federation: Federation, now: datetime) -> None:
    """Give it the pair's versions in use as its first ones, for each model of which it has none."""
    _lock(federation)
    missing = [role for role in Role if champion(federation.pair_id, role, federation.lineage()) is None]
    _copied(federation, source=BASE, target=federation.lineage(), now=now, roles=missing)
    if champion(federation.pair_id, Role.DEVICE, federation.lineage()) is None:
        raise NothingToBeginWith(pair=federation.pair.slug)


def _lock(federation: Federation) -> None:
    """Lock the rows of federation and pair, in this order, so that no merge replaces a champion meanwhile."""
    Federation.objects.select_for_update(no_key=True).get(pk=federation.pk)
    ModelPair.objects.select_for_update(no_key=True).get(pk=federation.pair_id)


def _copied(
    federation: Federation, *, source: str, target: str, now: datetime, roles: Collection[Role] = tuple(Role)
) -> list[ModelVersion]:
    made = (
        copy_champion(pair_id=federation.pair_id, role=role, source=source, target=target, now=now)
        for role in sorted(roles)
    )
    return [version for version in made if version is not None]


def check_plan_fits(plan: Plan, pair: ModelPair, cloud_data: Dataset | None) -> None:
    """Check that every kind of the plan can work with the pair's models and the cloud data. Raises PlanDoesNotFit."""
    resources = Resources(cloud_data=cloud_data is not None, teacher_problem=_why_no_teacher(pair))
    for slot, reason in plan.misfits(pair.model_spec(), resources):
        raise PlanDoesNotFit(
            pair=pair.slug, slot=slot, kind_name=plan.kind_in(slot).name, reason=reason.code, problem=reason.sentence
        )


@transaction.atomic
def _move(federation: Federation, *, to: Federation.State, among: tuple[str, ...], now: datetime) -> None:
    before = Federation.objects.select_for_update(no_key=True).get(pk=federation.pk).state
    moved = Federation.objects.filter(pk=federation.pk, state__in=among).update(
        state=to, kept_back=0, **reason_columns(None)
    )
    federation.refresh_from_db()
    if not moved:
        raise WrongState(federation=federation.slug, state=federation.state, wanted=str(to))
    ADVANCE.send(federation=str(federation.pk))
    if before != to:
        announce(TOLD[to], {"federation": federation.slug}, about=federation, now=now)


def _why_no_teacher(pair: ModelPair) -> str | None:
    """Why devices cannot run the pair's cloud model; None: they can."""
    if pair.teacher_predict_id is not None:
        return None
    why = pair.report.get("teacher_problem") or "it was checked before devices could learn from cloud models"
    return f"no graph for devices could be made of it ({why})"
