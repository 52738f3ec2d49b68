"""What a device should do now: the answer to its check-in."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import msgspec
from django.db import transaction

from coterie.agent_rollouts.selectors import updates_of
from coterie.analytics.selectors import pending_questions
from coterie.cloud_answers.selectors import offer_to
from coterie.device_logs.selectors import requested_logs
from coterie.federations.models import Federation
from coterie.fleet.certificates import is_certificate_due
from coterie.fleet.counting import latest_count
from coterie.fleet.credentials import can_renew_credential, is_renewal_due
from coterie.fleet.declining import declined_by
from coterie.fleet.exclusions import Exclusions
from coterie.fleet.kinds import has_kind, is_of_first_release, lacked_by
from coterie.fleet.models import Device
from coterie.fleet.selectors import held_back, why_not_ready
from coterie.fleet.services import apply_check_in, expect_check_in, record_check_ins
from coterie.fleet.signalling import signals_for
from coterie.fleet.signing_keys import Succession
from coterie.fleet_evaluation.reporting import message_of as evaluation_message_of
from coterie.fleet_evaluation.selectors import open_parts
from coterie.privacy.reasons import device_out_of_budget
from coterie.privacy.selectors import affordable, cost_under, limit_of
from coterie.privacy.streams import index_of, stream_of, why_resting
from coterie.registry.selectors import (
    difference_between,
    offered_variants,
    signed_manifest,
    signed_teacher,
    withdrawn_versions,
)
from coterie.rollouts.reporting import message_of, shadow_message_of
from coterie.rounds import reasons
from coterie.rounds.assigning import ProgressReport, record_progress, release_declined
from coterie.rounds.intervals import BUSY_CHECK_IN_S, busy_interval_s, idle_interval_s
from coterie.rounds.islands import Islands
from coterie.rounds.leading import leads_of
from coterie.rounds.meeting import gathering_of
from coterie.rounds.models import Assignment, Round, Route
from coterie.rounds.opening import take_place
from coterie.rounds.pacing import paces_of
from coterie.rounds.routing import route_message
from coterie.rounds.surroundings import Surroundings, surroundings_of
from coterie.transfer.directives import TransferDirectives, transfer_directives_of
from coterie.transfer.selectors import waiting_for
from coterie_learning.client.whole_batches import waits_for_a_batch
from coterie_learning.consent import FEDERATION
from coterie_learning.device_plan import device_plan_json
from coterie_learning.plan import Plan
from coterie_wire.bundle import Difference, SignedManifest
from coterie_wire.conditions import Reason
from coterie_wire.messages import Assignment as AssignmentMessage
from coterie_wire.messages import CheckIn, Directive, PrivacyBudget
from coterie_wire.relaying import Route as RouteMessage
from coterie_wire.variants import digest_of


class Call(NamedTuple):
    """A device and its check-in."""

    device: Device
    message: CheckIn
    by_socket: bool = False
    """The check-in came over a socket, through which the device can be woken."""


def check_in(*, device: Device, message: CheckIn, now: datetime) -> Directive:
    """Store what the device reports and return its directive."""
    return check_in_all([Call(device, message)], now=now)[0]


def check_in_all(calls: Sequence[Call], *, now: datetime) -> Sequence[Directive]:
    """The same for several distinct devices, in as many queries as for one, and in one transaction.

    No query's cost grows with the fleet: the sweep finds what is due in a federation, and wakes the devices concerned.
    """
    checked_in = [apply_check_in(device=device, check_in=message, now=now) for device, message, _ in calls]
    devices = [call.device for call in calls]
    release_declined(devices, now=now)
    surroundings = surroundings_of(devices, now=now)
    waiting = waiting_for(devices)
    islands = Islands()
    leads = leads_of(devices, islands)
    evaluating = open_parts(devices)
    fleet = latest_count()
    questions = pending_questions(devices, now=now)
    signals = signals_for(devices, now=now)
    updates = updates_of(devices)
    logs = requested_logs(devices)
    withdrawn: dict[UUID, tuple[UUID, ...]] = {}
    takers = {
        message.version for _, message, _ in calls if message.variants is not None and message.version is not None
    }
    offered = offered_variants(takers) if takers else {}
    succession, exclusions = Succession(), Exclusions(now)
    directives, reports = [], []
    paces = paces_of(surroundings.values(), fleet=fleet)
    for device, message, by_socket in calls:
        own = surroundings[device.pk]
        federation = own.followed
        transfers = transfer_directives_of(
            device=device, federation=federation, waiting=waiting.get(device.pk), open_request=message.help, now=now
        )
        directive = direct(device=device, surroundings=own, islands=islands, fleet=fleet, now=now)
        directive = _with_transfers(directive, transfers, known_digest=message.standing)
        if device.pk in leads:
            check_in_s = min(directive.check_in_s, BUSY_CHECK_IN_S)
            directive = msgspec.structs.replace(directive, lead=leads[device.pk], check_in_s=check_in_s, window=None)
        if federation is not None and transfers.effective_plan is not None:
            if federation.pair_id not in withdrawn:
                withdrawn[federation.pair_id] = withdrawn_versions(federation.pair_id)
            # Without the version that the device should hold although it was withdrawn.
            others = tuple(str(version) for version in withdrawn[federation.pair_id] if version != own.target_version)
            directive = msgspec.structs.replace(directive, withdrawn=others)
        if message.variants is not None and message.version is not None and directive.manifest is None:
            forms = offered.get(message.version)
            if forms is not None and digest_of(forms) != message.variants:
                directive = msgspec.structs.replace(directive, variants=forms)
        if device.pk in updates:
            directive = msgspec.structs.replace(directive, update=updates[device.pk])
        if device.pk in logs:
            directive = msgspec.structs.replace(directive, log=logs[device.pk])
        if device.pk in questions and FEDERATION + questions[device.pk].federation not in declined_by(device):
            directive = msgspec.structs.replace(directive, question=questions[device.pk])
        if device.pk in evaluating and not is_of_first_release(device):
            evaluate = evaluation_message_of(evaluating[device.pk], now=now)
            directive = msgspec.structs.replace(directive, evaluate=evaluate)
        if not is_of_first_release(device):
            slugs = tuple(federation.slug for federation in own.under_way)
            directive = msgspec.structs.replace(
                directive, ignores_unknown=True, hides=_masks_measurements(own), federations=slugs
            )
        if device.pk in signals:
            directive = msgspec.structs.replace(directive, signals=tuple(signals[device.pk]))
        if device.capabilities.get("platform_key") is not None:
            statements = succession.statements(device.trusted_key)
            if statements:
                directive = msgspec.structs.replace(directive, next_keys=statements)
        if message.excluded_at is not None and _deals_with_others(directive):
            directive = msgspec.structs.replace(directive, excluded=exclusions.newer_than(message.excluded_at))
        offer = offer_to(device, federation)
        if offer is not None:
            directive = msgspec.structs.replace(directive, platform_answers=offer)
        if can_renew_credential(device) and is_renewal_due(device, now=now):
            directive = msgspec.structs.replace(directive, renew_credential=True)
        if is_certificate_due(device, now=now):
            directive = msgspec.structs.replace(directive, renew_certificate=True)
        if paces is not None and _is_idle(directive, fleet=fleet):
            directive = paces.steered(directive, device=device, federation=federation, by_socket=by_socket, now=now)
        expect_check_in(device=device, check_in_s=_next_check_in_s(directive), by_socket=by_socket)
        directives.append(directive)
        if message.progress is not None:
            reports += [
                ProgressReport(part, message.progress)
                for part in own.parts.values()
                if str(part.pk) == message.progress.assignment
            ]
    with transaction.atomic():
        record_check_ins(checked_in=checked_in, now=now)
        record_progress(reports=reports, now=now)
    return directives


def direct(*, device: Device, surroundings: Surroundings, islands: Islands, fleet: int, now: datetime) -> Directive:
    """The device's assignment in one of its federations, or why it has none; a ready device may be invited at once.

    `fleet`: the number of devices in the fleet.
    """
    assignment = surroundings.assignment
    if assignment is None and _first_reason(device) is None:
        assignment = _place_for(device, surroundings, now)
    if assignment is not None:
        round_ = assignment.round
        return Directive(
            check_in_s=busy_interval_s(at_work=round_.at_work, fleet=fleet),
            assignment=_message(device, assignment, islands, now),
            requirements=round_.parsed_plan().requirements,
        )
    if surroundings.under_way:
        requirements = surroundings.under_way[0].parsed_plan().requirements
        wait = _why_not_invited(device, surroundings.under_way[0], surroundings, now)
    else:
        requirements = None
        wait = _why_none(device, surroundings)
    return Directive(
        check_in_s=idle_interval_s(fleet=fleet),
        manifest=_new_manifest(device, surroundings),
        difference=_difference(device, surroundings.target_version),
        trial=message_of(surroundings.trial),
        shadow=None if is_of_first_release(device) else shadow_message_of(surroundings.trial, now=now),
        requirements=requirements,
        wait=_first_reason(device) or wait,
    )


def why_not_training(device: Device, *, now: datetime) -> tuple[Reason, ...]:
    """Every reason why the device does not train now; empty: it works on its assignment."""
    why = why_not_ready(device, now=now)
    if why:
        return why
    surroundings = surroundings_of([device], now=now)[device.pk]
    if surroundings.assignment is not None:
        return ()
    if surroundings.under_way:
        invited = (_why_not_invited(device, federation, surroundings, now) for federation in surroundings.under_way)
        declined = declined_by(device)
        declining = (reasons.taken_back(declined),) if declined else ()
        return (*invited, *_why_untrained(device, surroundings.under_way), *declining)
    return (_why_none(device, surroundings),)


def _why_none(device: Device, surroundings: Surroundings) -> Reason:
    """Why no running federation asks the device."""
    declined = declined_by(device)
    if declined:
        return reasons.taken_back(declined)
    return reasons.NO_FEDERATION if surroundings.followed is None else reasons.FINISHED


def _is_idle(directive: Directive, *, fleet: int) -> bool:
    """Whether the device has no reason to check in more often than others."""
    return directive.assignment is None and directive.check_in_s >= idle_interval_s(fleet=fleet)


def _deals_with_others(directive: Directive) -> bool:
    """Whether the device connects to other devices, or they to it."""
    part = directive.assignment
    return directive.lead is not None or (part is not None and (part.route is not None or part.gathering is not None))


def _masks_measurements(surroundings: Surroundings) -> bool:
    """Whether a federation of the device uses secure aggregation for what devices measure."""
    return any(federation.parsed_plan().privacy.masking() is not None for federation in surroundings.under_way)


def _next_check_in_s(directive: Directive) -> float:
    """Seconds within which the device checks in again."""
    window = directive.window
    return directive.check_in_s if window is None else window.after_s + window.within_s


def _with_transfers(directive: Directive, transfers: TransferDirectives, *, known_digest: str | None) -> Directive:
    """The directive with its Cartel part; it carries the effective plan only where the device does not have it yet."""
    effective_plan = transfers.effective_plan
    return msgspec.structs.replace(
        directive,
        check_in_s=min(directive.check_in_s, BUSY_CHECK_IN_S) if transfers.is_urgent else directive.check_in_s,
        stands=effective_plan is not None,
        standing=None if effective_plan is None or effective_plan.digest == known_digest else effective_plan,
        help=transfers.help,
        serve=transfers.serve,
    )


def _place_for(device: Device, surroundings: Surroundings, now: datetime) -> Assignment | None:
    """An assignment in the first open round that has a place left and has not invited the device before."""
    for federation in surroundings.under_way:
        round_ = surroundings.rounds.get(federation.pk)
        if round_ is None or round_.state != Round.State.OPEN or not round_.places or round_.pk in surroundings.parts:
            continue
        plan = round_.parsed_plan()
        if lacked_by(device, plan) or not _is_affordable(device, federation, plan):
            continue
        if why_resting(device, federation, plan) is not None:
            continue
        assignment = take_place(round_=round_, device=device, now=now)
        if assignment is not None:
            return assignment
    return None


def _is_affordable(device: Device, federation: Federation, plan: Plan) -> bool:
    """Whether privacy budgets cover what a release under `plan` would cost the device."""
    return cost_under(plan) is None or affordable(Device.objects.filter(pk=device.pk), federation, plan).exists()


def _message(device: Device, assignment: Assignment, islands: Islands, now: datetime) -> AssignmentMessage:
    round_ = assignment.round
    stream = stream_of(round_.parsed_plan())
    return AssignmentMessage(
        assignment=str(assignment.pk),
        federation=round_.federation.slug,
        round=round_.number,
        plan=msgspec.Raw(device_plan_json(round_.parsed_plan().device)),
        manifest=signed_manifest(assignment.base_version_id, with_state=bool(round_.parsed_plan().merge.sends)),
        teacher=None if assignment.teacher_id is None else signed_teacher(assignment.teacher_id),
        seed=assignment.seed,
        remaining_s=_remaining_s(assignment, now),
        stream_index=None if stream is None else index_of(round_.federation, stream),
        route=_route(assignment, islands),
        difference=_difference(device, assignment.base_version_id),
        gathering=gathering_of(assignment),
        budget=_budget(round_.federation, round_.parsed_plan()),
    )


def _budget(federation: Federation, plan: Plan) -> PrivacyBudget | None:
    """The federation's privacy budget for the device; None: the plan spends nothing."""
    if cost_under(plan) is None:
        return None
    limit = limit_of(federation)
    return PrivacyBudget(limit.epsilon, limit.delta)


def _difference(device: Device, version: UUID | None) -> Difference | None:
    """The difference from the version that the device holds to `version`, where its agent can decode it."""
    if version is None or device.held_version in ("", str(version)) or is_of_first_release(device):
        return None
    return difference_between(device.held_version, version, has_codec=lambda name: has_kind(device, "codec", name))


def _route(assignment: Assignment, islands: Islands) -> RouteMessage | None:
    """The supernode that the update goes to, where the plan has supernodes."""
    if assignment.round.parsed_plan().topology.fan_in() is None:
        return None
    routes = Route.objects.select_related("supernode", "assignment__device", "assignment__round")
    route = routes.filter(pk=assignment.pk).first()
    message = None if route is None else route_message(route)
    if route is None or message is None:
        return None
    return msgspec.structs.replace(message, island=islands.of(assignment.round, route.assignment.device))


def _remaining_s(assignment: Assignment, now: datetime) -> float:
    """Seconds until the round closes; in an asynchronous round, what is left of the device's own time."""
    round_ = assignment.round
    assert round_.deadline_at is not None, "a round opens with a deadline"
    if not round_.carries_on:
        return max(0.0, (round_.deadline_at - now).total_seconds())
    whole_s = round_.parsed_plan().pace.deadline_after_s()
    return min(whole_s, max(0.0, whole_s - (now - assignment.offered_at).total_seconds()))


def _new_manifest(device: Device, surroundings: Surroundings) -> SignedManifest | None:
    """The version that the device should have, where it holds another one."""
    if surroundings.target_version is None or str(surroundings.target_version) == device.held_version:
        return None
    return signed_manifest(surroundings.target_version)


def _first_reason(device: Device) -> Reason | None:
    why = held_back(device) + device.reported_blockers()
    return why[0] if why else None


def _why_untrained(device: Device, federations: Sequence[Federation]) -> Iterator[Reason]:
    """Why the device does not train between rounds, where the plan wants it and the device reports its samples."""
    for federation in federations:
        if device.metadata and federation.parsed_plan().device.local_training_every_s is not None:
            size = federation.pair.model_spec().batch_size
            reason = waits_for_a_batch(device.reported_metadata().samples, size)
            if reason is not None:
                yield reason


def _why_not_invited(device: Device, federation: Federation, surroundings: Surroundings, now: datetime) -> Reason:
    round_ = surroundings.rounds.get(federation.pk)
    is_asked = round_ is not None and round_.pk in surroundings.parts
    lacked = () if is_asked else lacked_by(device, federation.parsed_plan())
    if lacked:
        return reasons.lacks_kinds(lacked)
    if not is_asked and not _is_affordable(device, federation, federation.parsed_plan()):
        return device_out_of_budget()
    rests = None if is_asked else why_resting(device, federation, federation.parsed_plan())
    if rests is not None:
        return rests
    if round_ is None:
        if federation.state == Federation.State.PAUSED:
            return federation.reason() or reasons.PAUSED
        return reasons.BETWEEN if federation.parsed_plan().pace.holds_rounds() else reasons.HOLDS_NONE
    if round_.state == Round.State.OPEN:
        part = surroundings.parts.get(round_.pk)
        if part is None:
            return reasons.has_place(round_.number) if round_.places else reasons.full(round_.number)
        return part.reason() or reasons.delivered(round_.number)
    if round_.state == Round.State.PLANNED and round_.opens_at > now:
        return reasons.pause((round_.opens_at - now).total_seconds())
    return round_.reason() or reasons.BETWEEN
