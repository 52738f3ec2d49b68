"""Performs the due steps of an evaluation; it may be called at any time, and calling twice changes nothing."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.db import transaction

from coterie.core.events import wake_devices
from coterie.core.lease import SKEW
from coterie.core.resting import LONGEST_S
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.fleet_evaluation import reasons
from coterie.fleet_evaluation.models import Evaluation, Part
from coterie.fleet_evaluation.selectors import able_devices, active_evaluations
from coterie.fleet_evaluation.summary import EvaluationFigures, by_tag, summarise
from coterie.fleet_evaluation.transitions import STEPS, end
from coterie_learning.random import derive_seed
from coterie_learning.selection import choose

State = Evaluation.State


def sweep(*, now: datetime) -> float:
    """Find everything that is due; this alone is enough for each evaluation to end. Returns seconds until one may be.

    A failure in one does not delay the others. Raises ExceptionGroup after all were processed.
    """
    failures: list[Exception] = []
    active = list(active_evaluations().values_list("pk", flat=True))
    for key in active:
        try:
            advance_evaluation(evaluation_id=key, now=now)
        except Exception as error:  # noqa: BLE001 - raised below
            failures.append(error)
    if failures:
        raise ExceptionGroup("evaluations could not go on", failures)
    return 0.0 if active else LONGEST_S


@transaction.atomic
def advance_evaluation(*, evaluation_id: UUID, now: datetime) -> None:
    """Ask devices once enough are present, and end it once all have reported or its time is over."""
    rows = Evaluation.objects.select_for_update(of=("self",), no_key=True).select_related("federation", "version__pair")
    evaluation = rows.filter(pk=evaluation_id, state__in=Evaluation.ACTIVE).first()
    if evaluation is None:
        return
    _follow_clock(evaluation, now)
    if evaluation.federation.state == Federation.State.FINISHED:
        end(evaluation, State.CANCELLED, reason=reasons.NOT_LONGER, now=now)
    elif evaluation.federation.parsed_plan().privacy.masking() is not None:
        end(evaluation, State.CANCELLED, reason=reasons.MASKED, now=now)
    elif evaluation.state == State.PLANNED:
        _begin_if_due(evaluation, now)
    else:
        _end_if_due(evaluation, now)


def _follow_clock(evaluation: Evaluation, now: datetime) -> None:
    """Limit the wait from now on to the evaluation's own: a clock that was set back must not lengthen it by as much."""
    latest = now + timedelta(seconds=evaluation.within_s)
    if evaluation.due_at > latest + SKEW:
        evaluation.due_at = latest
        evaluation.save(update_fields=["due_at"])


def _begin_if_due(evaluation: Evaluation, now: datetime) -> None:
    available = able_devices(evaluation, now=now)
    if len(available) < evaluation.reports_needed:
        reason = reasons.needs_devices(needed=evaluation.reports_needed, available=len(available))
        if now >= evaluation.due_at:
            end(evaluation, State.FAILED, reason=reason, now=now)
        else:
            STEPS.explain(evaluation, reason)
        return
    chosen = choose(
        map(str, available),
        count=min(evaluation.devices_wanted, len(available)),
        seed=derive_seed(evaluation.federation.seed, "evaluation", str(evaluation.pk)),
    )
    Part.objects.bulk_create(Part(evaluation=evaluation, device_id=device) for device in chosen)
    STEPS.take(
        evaluation,
        State.MEASURING,
        reason=reasons.measuring(devices=len(chosen), reports=0),
        begun_at=now,
        due_at=now + timedelta(seconds=evaluation.within_s),
    )
    wake_devices(chosen)


def _end_if_due(evaluation: Evaluation, now: datetime) -> None:
    # A device that has left cannot report any more, so it is not waited for.
    waits_for = evaluation.parts.filter(reported_at=None, device__state=Device.State.ENROLLED)
    waits = now < evaluation.due_at and waits_for.exists()
    if waits and evaluation.figures.get("reports") == evaluation.parts.filter(reported_at__isnull=False).count():
        return
    parts = list(evaluation.parts.select_related("device"))
    figures = _figures(parts)
    stored = msgspec.to_builtins(figures)
    if stored != evaluation.figures:
        Evaluation.objects.filter(pk=evaluation.pk, state=State.MEASURING).update(figures=stored)
        evaluation.figures = stored
    if waits:
        STEPS.explain(evaluation, reasons.measuring(devices=figures.devices, reports=figures.reports))
    elif figures.summary is not None and figures.summary.devices >= evaluation.reports_needed:
        end(evaluation, State.FINISHED, reason=reasons.measured(figures.summary), now=now)
    else:
        faulty = [part for part in parts if part.fault_code]
        reason = reasons.too_few_reports(
            needed=evaluation.reports_needed,
            measured=figures.reports - figures.faults,
            faults=figures.faults,
            example=faulty[-1].fault_sentence if faulty else "",
        )
        end(evaluation, State.FAILED, reason=reason, now=now)


def _figures(parts: list[Part]) -> EvaluationFigures:
    reported = [found for part in parts if (found := part.reported_figures()) is not None]
    return EvaluationFigures(
        devices=len(parts),
        reports=sum(part.reported_at is not None for part in parts),
        faults=sum(bool(part.fault_code) for part in parts),
        summary=summarise(reported),
        by_tag=by_tag(reported),
    )
