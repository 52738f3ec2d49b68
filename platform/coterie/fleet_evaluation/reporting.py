"""What devices are asked to measure, and what they report."""

from datetime import datetime

from django.db import transaction

from coterie.core.row_keys import key_of
from coterie.fleet.models import Device
from coterie.fleet_evaluation.errors import ImplausibleEvaluation, UnknownEvaluation
from coterie.fleet_evaluation.jobs import ADVANCE
from coterie.fleet_evaluation.models import Evaluation, Part
from coterie.registry.selectors import signed_manifest
from coterie_wire.contract import TASKS_WITH_ACCURACY
from coterie_wire.evaluating import Evaluate, ReportEvaluation


def message_of(part: Part, *, now: datetime) -> Evaluate:
    """The evaluation as sent to the device."""
    evaluation = part.evaluation
    return Evaluate(
        evaluation=str(evaluation.pk),
        manifest=signed_manifest(evaluation.version_id),
        remaining_s=max(0.0, (evaluation.due_at - now).total_seconds()),
    )


def record_report(*, device: Device, report: ReportEvaluation, now: datetime) -> None:
    """Store a device's report; the first one counts, and reports after the end are ignored.

    Raises UnknownEvaluation or ImplausibleEvaluation.
    """
    key = key_of(report.evaluation, UnknownEvaluation(evaluation=report.evaluation))
    parts = Part.objects.select_related("evaluation__version__pair")
    part = parts.filter(evaluation=key, device=device).first()
    if part is None:
        raise UnknownEvaluation(evaluation=report.evaluation)
    _check(part.evaluation, report)
    with transaction.atomic():
        open_part = Part.objects.filter(pk=part.pk, reported_at=None, evaluation__state=Evaluation.State.MEASURING)
        if not open_part.update(reported_at=now, **_columns(report)):
            return
        if not Part.objects.filter(evaluation=part.evaluation_id, reported_at=None).exists():
            ADVANCE.send(evaluation=str(part.evaluation_id))  # the sweep sums up what comes before


def _check(evaluation: Evaluation, report: ReportEvaluation) -> None:
    """Check that the figures are of the model's task. Raises ImplausibleEvaluation."""
    if report.fit is None:
        return
    has_accuracy = evaluation.version.pair.model_spec().task in TASKS_WITH_ACCURACY
    if (report.fit.accuracy is not None) != has_accuracy:
        problem = "it lacks an accuracy" if has_accuracy else "it tells an accuracy where nothing is right or wrong"
        raise ImplausibleEvaluation(problem=problem)


def _columns(report: ReportEvaluation) -> dict[str, object]:
    if report.fit is None:
        assert report.fault is not None, "a report holds one of the two"
        return {"fault_code": report.fault.code, "fault_sentence": report.fault.sentence}
    return {"samples": report.samples, "loss": report.fit.loss, "accuracy": report.fit.accuracy}
