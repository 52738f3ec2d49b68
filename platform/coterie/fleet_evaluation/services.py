"""Operators' decisions about federated evaluations: start one, or stop it."""

from datetime import datetime, timedelta

from coterie.audit.recording import audited
from coterie.federations.models import Federation
from coterie.federations.selectors import federation_of_lineage
from coterie.fleet.services import checked_tags
from coterie.fleet_evaluation import reasons
from coterie.fleet_evaluation.errors import (
    EvaluationHasEnded,
    Masked,
    NoFederation,
    NotADeviceVersion,
    OtherPair,
    TooFewAsked,
)
from coterie.fleet_evaluation.jobs import ADVANCE
from coterie.fleet_evaluation.models import Evaluation
from coterie.fleet_evaluation.transitions import end
from coterie.registry.models import ModelVersion, Role
from coterie.registry.services import hold_version

ACTIVE = (Federation.State.RUNNING, Federation.State.PAUSED)


@audited("fleet_evaluation.start_evaluation")
def start_evaluation(
    *,
    version: ModelVersion,
    now: datetime,
    federation: Federation | None = None,
    tag: str = "",
    devices: int,
    reports: int,
    within_s: int,
) -> Evaluation:
    """Have a sample of `devices` of a federation measure any version of its device model, on samples held out.

    `federation` defaults to the one that makes the version's lineage. At least `reports` must have measured it within
    `within_s` seconds of being asked. Raises NotADeviceVersion, NoFederation, OtherPair, Masked, TooFewAsked, BadTag or
    VersionRemoved.
    """
    if version.role != Role.DEVICE:
        raise NotADeviceVersion(version=str(version.pk))
    if reports > devices:
        raise TooFewAsked(devices=devices, reports=reports)
    if tag:
        checked_tags([tag])
    target = federation or federation_of_lineage(version.pair, version.lineage)
    if target is None or target.state not in ACTIVE:
        raise NoFederation(pair=version.pair.slug)
    if target.pair_id != version.pair_id:
        raise OtherPair(federation=target.slug, version=str(version.pk))
    privacy = target.parsed_plan().privacy
    if privacy.masking() is not None:
        raise Masked(federation=target.slug, privacy=privacy.name)
    hold_version(version)
    evaluation = Evaluation.objects.create(
        federation=target,
        version=version,
        tag=tag,
        devices_wanted=devices,
        reports_needed=reports,
        within_s=within_s,
        created_at=now,
        due_at=now + timedelta(seconds=within_s),
    )
    ADVANCE.send(evaluation=str(evaluation.pk))
    return evaluation


@audited("fleet_evaluation.cancel_evaluation", subject="evaluation")
def cancel_evaluation(*, evaluation: Evaluation, now: datetime) -> None:
    """Stop it: devices that still measure it stop at their next check-in. Raises HasEnded."""
    held = Evaluation.objects.select_for_update(no_key=True).get(pk=evaluation.pk)
    if held.state not in Evaluation.ACTIVE:
        raise EvaluationHasEnded(evaluation=str(held.pk), state=held.get_state_display().lower())
    end(held, Evaluation.State.CANCELLED, reason=reasons.STOPPED, now=now)
    evaluation.refresh_from_db()
