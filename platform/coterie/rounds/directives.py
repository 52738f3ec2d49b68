"""What a device should do now: the answer to its check-in."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from coterie.federations.models import Federation
from coterie.federations.selectors import federations_of, finished_federation_of
from coterie.fleet.models import Device
from coterie.fleet.selectors import held_back, why_not_ready
from coterie.fleet.services import expect_check_in, record_check_in
from coterie.registry.selectors import signed_manifest, signed_teacher, withdrawn_versions
from coterie.rollouts.models import Trial
from coterie.rollouts.reporting import message_of
from coterie.rollouts.selectors import trial_of
from coterie.rounds import reasons
from coterie.rounds.advancing import advance_federation
from coterie.rounds.assigning import record_progress, revive_dropped
from coterie.rounds.models import Assignment, Round
from coterie.rounds.selectors import (
    active_round,
    eligible_devices,
    live_assignment,
    own_assignment_of,
    standing,
    version_for,
)
from coterie.transfer.directives import Duties, duties_of
from coterie_wire.bundle import SignedManifest
from coterie_wire.conditions import Reason
from coterie_wire.messages import Assignment as AssignmentMessage
from coterie_wire.messages import CheckIn, Directive

BUSY_CHECK_IN_S = 2.0
"""While a device works on an assignment: its progress is shown, and its silence noticed."""
IDLE_CHECK_IN_S = 15.0
"""Otherwise; a device also checks in whenever its conditions change or it is woken."""


def check_in(*, device: Device, message: CheckIn, now: datetime) -> Directive:
    """Keep what the device reports and tell it what to do. Raises DeviceRevoked or DeviceLeft."""
    record_check_in(device=device, check_in=message, now=now)
    revive_dropped(device=device, now=now)
    if message.progress is not None:
        record_progress(device=device, progress=message.progress, now=now)
    federations = list(federations_of(device))
    own = federations[0] if federations else None  # of several, the one that began first
    duties = duties_of(device=device, federation=own, asks_about=message.help, now=now)
    directive = _with_duties(direct(device=device, federations=federations, now=now), duties, known=message.standing)
    if own is not None and duties.standing is not None:
        directive = msgspec.structs.replace(directive, withdrawn=_withdrawn(device, own))
    expect_check_in(device=device, check_in_s=directive.check_in_s)
    return directive


def direct(*, device: Device, federations: Sequence[Federation], now: datetime) -> Directive:
    """The device's assignment in one of its federations, or why it has none; a ready device may be invited at once."""
    assignment = live_assignment(device)
    if assignment is None and _first_reason(device) is None:
        for federation in federations:
            if _may_invite(federation, device, now):
                advance_federation(federation_id=federation.pk, now=now)
                assignment = live_assignment(device)
            if assignment is not None:
                break
    if assignment is not None:
        plan = assignment.round.parsed_plan()
        return Directive(
            check_in_s=BUSY_CHECK_IN_S,
            assignment=_message(assignment, now),
            requirements=plan.requirements,
        )
    if not federations:
        finished = finished_federation_of(device)
        trial = None if finished is None else trial_of(device, finished)
        return Directive(
            check_in_s=IDLE_CHECK_IN_S,
            manifest=None if finished is None else _news(finished, device, trial),
            trial=message_of(trial),
            wait=_first_reason(device) or (reasons.NO_FEDERATION if finished is None else reasons.FINISHED),
        )
    trial = trial_of(device, federations[0])
    return Directive(
        check_in_s=IDLE_CHECK_IN_S,
        manifest=_news(federations[0], device, trial),
        trial=message_of(trial),
        requirements=federations[0].parsed_plan().requirements,
        wait=_first_reason(device) or _why_not_invited(federations[0], device, now),
    )


def why_not_training(device: Device, *, now: datetime) -> tuple[Reason, ...]:
    """Every reason why the device does not train now; empty: it works on its assignment."""
    why = why_not_ready(device, now=now)
    if why or live_assignment(device) is not None:
        return why
    federations = list(federations_of(device))
    if federations:
        return tuple(_why_not_invited(federation, device, now) for federation in federations)
    return (reasons.NO_FEDERATION if finished_federation_of(device) is None else reasons.FINISHED,)


def _with_duties(directive: Directive, duties: Duties, *, known: str | None) -> Directive:
    """The directive with what devices do for one another; the plan of what stands only where the device lacks it."""
    standing = duties.standing
    return msgspec.structs.replace(
        directive,
        check_in_s=min(directive.check_in_s, BUSY_CHECK_IN_S) if duties.is_urgent else directive.check_in_s,
        stands=standing is not None,
        standing=None if standing is None or standing.digest == known else standing,
        help=duties.help,
        serve=duties.serve,
    )


def _withdrawn(device: Device, federation: Federation) -> tuple[str, ...]:
    """Versions that were rolled back, but for the one that the device should hold all the same."""
    versions = withdrawn_versions(federation.pair_id)
    if not versions:
        return ()
    wanted = version_for(device, federation, trial_of(device, federation))
    return tuple(str(version) for version in versions if version != wanted)


def _may_invite(federation: Federation, device: Device, now: datetime) -> bool:
    """Whether it is worth a turn at the federation's row; reads only."""
    round_ = active_round(federation)
    pace = federation.parsed_plan().pace
    if round_ is None:
        return federation.state == Federation.State.RUNNING and pace.holds_rounds()
    if round_.state == Round.State.PLANNED:
        if not pace.holds_rounds() or round_.reason_code == reasons.ROLLING_OUT:
            return False
        needed = pace.devices_needed()
        return round_.opens_at <= now and eligible_devices(federation, now=now).count() >= needed
    if round_.state != Round.State.OPEN or own_assignment_of(device, round_) is not None:
        return False
    so_far = standing(round_, now=now)
    pace = round_.parsed_plan().pace
    return pace.invite_count(eligible=1, live=so_far.live, delivered=so_far.delivered) > 0


def _message(assignment: Assignment, now: datetime) -> AssignmentMessage:
    round_ = assignment.round
    assert round_.deadline_at is not None
    return AssignmentMessage(
        assignment=str(assignment.pk),
        federation=round_.federation.slug,
        round=round_.number,
        plan=msgspec.Raw(msgspec.json.encode(round_.parsed_plan().device)),
        manifest=signed_manifest(assignment.base_version_id),
        teacher=None if assignment.teacher_id is None else signed_teacher(assignment.teacher_id),
        seed=assignment.seed,
        remaining_s=max(0.0, (round_.deadline_at - now).total_seconds()),
    )


def _news(federation: Federation, device: Device, trial: Trial | None) -> SignedManifest | None:
    """The version that the device should have, where it holds another one."""
    version = version_for(device, federation, trial)
    if version is None or str(version) == device.held_version:
        return None
    return signed_manifest(version)


def _first_reason(device: Device) -> Reason | None:
    why = held_back(device) + device.reported_blockers()
    return why[0] if why else None


def _why_not_invited(federation: Federation, device: Device, now: datetime) -> Reason:
    round_ = active_round(federation)
    if round_ is None:
        if federation.state == Federation.State.PAUSED:
            return reasons.PAUSED
        return reasons.BETWEEN if federation.parsed_plan().pace.holds_rounds() else reasons.HOLDS_NONE
    if round_.state == Round.State.OPEN:
        part = own_assignment_of(device, round_)
        if part is None:
            return reasons.full(round_.number)
        return part.reason() or reasons.delivered(round_.number)
    if round_.state == Round.State.PLANNED and round_.opens_at > now:
        return reasons.pause((round_.opens_at - now).total_seconds())
    return round_.reason() or reasons.BETWEEN
