"""What devices of a canary group report, and what they are asked to compare."""

from datetime import datetime, timedelta

import msgspec
from django.db import transaction

from coterie.core.events import notify_consoles
from coterie.core.row_keys import key_of
from coterie.federations.jobs import ADVANCE
from coterie.fleet.models import Device
from coterie.registry.selectors import signed_manifest
from coterie.rollouts.errors import ImplausibleTrial, UnknownTrial
from coterie.rollouts.models import Rollout, Trial
from coterie_wire.contract import TASKS_WITH_ACCURACY
from coterie_wire.trial import ReportTrial, Shadowed, ShadowTrial
from coterie_wire.trial import Trial as TrialMessage


def record_report(*, device: Device, report: ReportTrial, now: datetime) -> None:
    """Store the outcome of a device's trial; the first one counts, and reports after the end are ignored.

    Raises UnknownTrial or ImplausibleTrial.
    """
    key = key_of(report.rollout, UnknownTrial(rollout=report.rollout))
    trial = Trial.objects.select_related("rollout__version__pair").filter(rollout=key, device=device).first()
    if trial is None:
        raise UnknownTrial(rollout=report.rollout)
    _check(trial.rollout, report)
    with transaction.atomic():
        open_trial = Trial.objects.filter(pk=trial.pk, reported_at=None, rollout__state=Rollout.State.MEASURING)
        if open_trial.update(reported_at=now, **_columns(report)):
            notify_consoles("rollouts")
            ADVANCE.send(federation=str(trial.rollout.federation_id))


def message_of(trial: Trial | None) -> TrialMessage | None:
    """The trial as sent to the device; None: there is none, or it has reported the outcome."""
    if trial is None or trial.reported_at is not None or trial.rollout.is_shadow():
        return None
    rollout = trial.rollout
    assert rollout.champion_id is not None, "it has begun"
    return TrialMessage(
        rollout=str(rollout.pk), candidate=str(rollout.version_id), champion=signed_manifest(rollout.champion_id)
    )


def shadow_message_of(trial: Trial | None, *, now: datetime) -> ShadowTrial | None:
    """The candidate to run in shadow beside the champion; None: there is none, or the outcome was reported."""
    if trial is None or trial.reported_at is not None or not trial.rollout.is_shadow():
        return None
    rollout = trial.rollout
    over_at = rollout.phase_began_at() + timedelta(seconds=rollout.parsed_terms().shadow_s())
    return ShadowTrial(
        rollout=str(rollout.pk),
        candidate=signed_manifest(rollout.version_id),
        remaining_s=max(0.0, (over_at - now).total_seconds()),
    )


def _check(rollout: Rollout, report: ReportTrial) -> None:
    """Check that the figures are of the model's task. Raises ImplausibleTrial."""
    if report.compared is None:
        return
    has_accuracy = rollout.version.pair.model_spec().task in TASKS_WITH_ACCURACY
    for fit in (report.compared.champion, report.compared.candidate):
        if (fit.accuracy is not None) != has_accuracy:
            problem = "it lacks an accuracy" if has_accuracy else "it tells an accuracy where nothing is right or wrong"
            raise ImplausibleTrial(problem=problem)


def _columns(report: ReportTrial) -> dict[str, object]:
    if report.compared is None:
        assert report.fault is not None, "a report holds one of the two"
        return {"fault_code": report.fault.code, "fault_sentence": report.fault.sentence}
    champion, candidate = report.compared.champion, report.compared.candidate
    return {
        "samples": report.compared.samples,
        "champion_loss": champion.loss,
        "champion_accuracy": champion.accuracy,
        "candidate_loss": candidate.loss,
        "candidate_accuracy": candidate.accuracy,
        **_shadow_columns(report.shadowed),
    }


def _shadow_columns(shadowed: Shadowed | None) -> dict[str, object]:
    if shadowed is None:
        return {}
    durations = {"champion": shadowed.champion, "candidate": shadowed.candidate}
    return {"agreement": shadowed.agreement, "durations": msgspec.to_builtins(durations)}
