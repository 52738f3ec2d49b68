"""Changes to federations: they are created, changed, started, paused and finished."""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from coterie.audit.recording import audited
from coterie.federations.errors import (
    CloudDataDoesNotFit,
    CloudDataMissing,
    HeldOutDoesNotFit,
    NameTaken,
    PairInUse,
    PairNotReady,
    PlanDoesNotFit,
    WrongState,
)
from coterie.federations.jobs import ADVANCE
from coterie.federations.models import Federation
from coterie.fleet.services import checked_tags
from coterie.registry.models import Dataset, ModelPair
from coterie.registry.selectors import misfit
from coterie_learning.heads import output_layer
from coterie_learning.help import HelpRules
from coterie_learning.merge.distill import DistillMerge
from coterie_learning.plan import Plan, parse_plan, plan_document
from coterie_learning.portions.payload import Terms
from coterie_wire.errors import WireError


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
    seed: int = 0,
    rounds_wanted: int | None = None,
    now: datetime,
) -> Federation:
    """A federation that waits to be started.

    Raises WireError ``plan.invalid`` or ``plan.unknown_kind``, NameTaken, PairNotReady, BadTag, HeldOutDoesNotFit,
    CloudDataDoesNotFit, CloudDataMissing or PlanDoesNotFit.
    """
    if device_tag:
        checked_tags([device_tag])
    if pair.state != ModelPair.State.READY:
        raise PairNotReady(pair=pair.slug, state=pair.state)
    if held_out is not None and (problem := misfit(pair, held_out)) is not None:
        raise HeldOutDoesNotFit(dataset=held_out.name, problem=problem)
    if cloud_data is not None and (problem := misfit(pair, cloud_data)) is not None:
        raise CloudDataDoesNotFit(dataset=cloud_data.name, problem=problem)
    parsed = parse_plan(plan)
    check_plan_fits(parsed, pair, cloud_data)
    slug = slugify(name)[:100] or "federation"
    try:
        with transaction.atomic():
            return Federation.objects.create(
                name=name,
                slug=slug,
                pair=pair,
                plan=plan_document(parsed),
                device_tag=device_tag,
                held_out=held_out,
                cloud_data=cloud_data,
                tolerance=tolerance,
                seed=seed,
                rounds_wanted=rounds_wanted,
                created_at=now,
            )
    except IntegrityError as error:
        raise NameTaken(slug=slug) from error


@audited("federations.change_plan", subject="federation")
def change_plan(*, federation: Federation, plan: object) -> None:
    """Another plan from the next round on; the round that is open keeps its own.

    Raises WireError ``plan.invalid`` or ``plan.unknown_kind``, CloudDataMissing or PlanDoesNotFit.
    """
    parsed = parse_plan(plan)
    check_plan_fits(parsed, federation.pair, federation.cloud_data)
    federation.plan = plan_document(parsed)
    federation.save(update_fields=["plan"])


@audited("federations.start_federation", subject="federation")
def start_federation(*, federation: Federation) -> None:
    """Hold rounds from now on; nothing happens if it does already. Raises WrongState or PairInUse."""
    try:
        _move(federation, to=Federation.State.RUNNING, among=("draft", "paused", "running"))
    except IntegrityError as error:
        raise PairInUse(pair=federation.pair.slug) from error


@audited("federations.pause_federation", subject="federation")
def pause_federation(*, federation: Federation) -> None:
    """Open no further round. Raises WrongState."""
    _move(federation, to=Federation.State.PAUSED, among=("running", "paused"))


@audited("federations.finish_federation", subject="federation")
def finish_federation(*, federation: Federation) -> None:
    """Open no further round, for good; the pair is free for another federation. Raises WrongState."""
    _move(federation, to=Federation.State.FINISHED, among=("draft", "running", "paused", "finished"))


def check_plan_fits(plan: Plan, pair: ModelPair, cloud_data: Dataset | None) -> None:
    """Check that the pair's models can do what the plan asks, and that its merge has the data that it needs.

    Raises CloudDataMissing or PlanDoesNotFit.
    """
    rules = plan.help.rules()
    if rules is not None and (problem := _why_no_portions(plan, rules, pair)) is not None:
        raise PlanDoesNotFit(pair=pair.slug, problem=problem)
    model = pair.model_spec()
    try:
        plan.local.weights(0).check(model.scalars)
    except WireError as error:
        raise PlanDoesNotFit(pair=pair.slug, problem=error.detail) from error
    if isinstance(plan.merge, DistillMerge) and model.task != "classes":
        raise PlanDoesNotFit(pair=pair.slug, problem=f"merging by distillation is for classes, not for {model.task}")
    if isinstance(plan.merge, DistillMerge) and cloud_data is None:
        raise CloudDataMissing(merge=plan.merge.name)
    learns_classes = plan.local.needs_teacher() or isinstance(plan.merge, DistillMerge)
    if learns_classes and not pair.model_spec().classes:
        raise PlanDoesNotFit(pair=pair.slug, problem="only models that tell classes apart are distilled")
    if plan.local.needs_teacher() and pair.teacher_predict_id is None:
        why = pair.report.get("teacher_problem") or "it was checked before devices could learn from cloud models"
        problem = f"no graph for devices could be made of its cloud model ({why})"
        raise PlanDoesNotFit(pair=pair.slug, problem=problem)
    if not plan.local.scope().is_whole:
        try:
            output_layer(model)
        except WireError as error:
            raise PlanDoesNotFit(pair=pair.slug, problem=error.detail) from error


@transaction.atomic
def _move(federation: Federation, *, to: Federation.State, among: tuple[str, ...]) -> None:
    moved = Federation.objects.filter(pk=federation.pk, state__in=among).update(state=to)
    federation.refresh_from_db()
    if not moved:
        raise WrongState(federation=federation.slug, state=federation.state, wanted=str(to))
    ADVANCE.send(federation=str(federation.pk))


def _why_no_portions(plan: Plan, rules: HelpRules, pair: ModelPair) -> str | None:
    """Why no device could give another a portion of the pair's device model; None: it can."""
    if rules.portion == "learner":
        return "portion learner is for devices whose models differ, and the members of a federation share one"
    try:
        _ = Terms(pair.model_spec(), (0,), rules, plan.codec, plan.privacy).specs
    except WireError as error:
        return error.detail
    return None
