"""From planned to open: rounds are planned one after another, opened when enough devices are ready, and filled."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import F

from coterie.core.events import wake_devices
from coterie.core.resting import LONGEST_S
from coterie.core.rows import insert_all
from coterie.federations.models import Federation
from coterie.federations.selectors import lineages_of
from coterie.fleet.models import Device
from coterie.privacy.streams import why_ended
from coterie.registry.models import NEXT_BOUND, ModelVersion, Role
from coterie.registry.selectors import champion, has_teacher_weights
from coterie.rounds import reasons
from coterie.rounds.carried_assignments import carry_over
from coterie.rounds.histories import history_of
from coterie.rounds.jobs import ADVANCE
from coterie.rounds.models import Assignment, Round, RoundEvent
from coterie.rounds.routing import route_parts
from coterie.rounds.selectors import (
    are_carried,
    eligible_devices,
    invitable_devices,
    view_of,
    why_collecting,
    why_too_few,
)
from coterie.rounds.teaching import teacher_of
from coterie.rounds.transitions import explain, record_event, record_events, step
from coterie_learning.pace import View
from coterie_learning.plan import Plan, plan_document
from coterie_learning.random import derive_seed
from coterie_learning.selection import DeviceFacts
from coterie_wire.conditions import Reason

INVITED_AT_ONCE = 10_000
"""Devices in one transaction, which takes one to three seconds."""
REASON_VALID_FOR = timedelta(seconds=5)
"""A reason that is computed from every member is renewed this often; until then nothing else is checked again."""
RECHECK_EVERY = timedelta(seconds=5)
"""Between two searches of the members of an open round that left places for devices that check in."""


def plan_round(*, federation: Federation, now: datetime) -> Round | None:
    """Create the federation's next round; None if it holds no more. The caller holds the federation's row."""
    if federation.state != Federation.State.RUNNING:
        return None
    pace = federation.parsed_plan().pace
    if not pace.holds_rounds():
        return None
    last = federation.rounds.order_by("-number").first()
    number, opens_at = 1, now
    if last is not None:
        assert last.finished_at is not None, "a federation has one active round"
        number = last.number + 1
        opens_at = last.finished_at + timedelta(seconds=pace.pause_after_s())
    round_ = Round.objects.create(
        federation=federation, number=number, opens_at=opens_at, seed=derive_seed(federation.seed, "round", number)
    )
    record_event(round_.pk, RoundEvent.Kind.PLANNED, now=now)
    return round_


def why_not_open(*, round_: Round, now: datetime) -> Reason | None:
    """Why a planned round does not open yet; None: it can. Reads only, so that counting holds no lock."""
    federation = round_.federation
    if federation.state == Federation.State.PAUSED:
        return federation.reason() or reasons.PAUSED
    if now < round_.opens_at:
        return reasons.pause((round_.opens_at - now).total_seconds())
    plan, reason = federation.parsed_plan(), round_.reason()
    if not plan.pace.holds_rounds():
        return reasons.HOLDS_NONE
    needed, carries = plan.pace.devices_needed(), plan.pace.staleness_allowed() is not None

    def are_too_few() -> bool:
        return eligible_devices(federation, plan, now=now).order_by()[:needed].count() < needed

    is_fresh = round_.reason_at is not None and timedelta() <= now - round_.reason_at < REASON_VALID_FOR
    if reason is not None and reason.code == reasons.NEEDS_DEVICES and is_fresh and not carries and are_too_few():
        return reason
    if champion(federation.pair_id, Role.DEVICE, federation.lineage()) is None:
        return reasons.NO_MODEL
    if plan.needs_cloud_model and champion(federation.pair_id, Role.CLOUD, federation.lineage()) is None:
        return reasons.NO_CLOUD_MODEL
    ended = why_ended(federation, plan)
    if ended is not None:
        return ended
    if carries and are_carried(federation):
        return None
    if not are_too_few():
        return None
    return why_too_few(federation, needed=needed, now=now)


def seconds_until_due(*, round_: Round, now: datetime) -> float:
    """Seconds until a planned round, which cannot open now, has to be checked again by the clock alone.

    Everything else that it waits for, such as its members, are changes of rows.
    """
    if now < round_.opens_at:
        return reasons.pause_holds_s((round_.opens_at - now).total_seconds())
    since = None if round_.reason_at is None else now - round_.reason_at
    if round_.reason_code == reasons.NEEDS_DEVICES and since is not None and timedelta() < since < REASON_VALID_FOR:
        return (REASON_VALID_FOR - since).total_seconds()
    return LONGEST_S


def open_if_due(*, round_: Round, now: datetime) -> None:
    """Open a planned round if its time has come and enough devices are ready; else record what it waits for.

    The caller holds the round's row.
    """
    federation = round_.federation
    if federation.state == Federation.State.FINISHED:
        step(round_, Round.State.ABANDONED, reason=reasons.FINISHED, now=now, finished_at=now)
        return
    reason = why_not_open(round_=round_, now=now)
    if reason is not None:
        explain(round_, reason, now=now)
        return
    base_version = champion(federation.pair_id, Role.DEVICE, federation.lineage())
    assert base_version is not None, "a round does not open without a model"
    plan = _bounded(federation.parsed_plan(), base_version)
    opened = step(
        round_,
        Round.State.OPEN,
        reason=None,
        now=now,
        plan=plan_document(plan),
        base_version=base_version,
        opened_at=now,
        deadline_at=now + timedelta(seconds=plan.pace.deadline_after_s()),
        carries_on=plan.pace.staleness_allowed() is not None,
    )
    if opened:
        carry_over(round_=round_, now=now)
        invite(round_=round_, now=now)
        if round_.updates_in:
            ADVANCE.send(federation=str(federation.pk))


def _bounded(plan: Plan, base_version: ModelVersion) -> Plan:
    """`plan` with the clipping norm stored with the version, where the plan adapts it to the updates."""
    norm = base_version.metrics.get(NEXT_BOUND)
    return plan if norm is None else msgspec.structs.replace(plan, privacy=plan.privacy.bounded_by(norm))


def wants_others(*, round_: Round, view: View, now: datetime) -> bool:
    """Whether an open round wants more devices than the places it left open when it last searched for devices.

    Where it does not, its members are searched again at intervals: a device that takes no place by itself may be ready.
    """
    wanted = round_.parsed_plan().pace.decide(view).devices
    if wanted > round_.places or not wanted:
        return wanted > 0
    if round_.looked_at is not None and now - round_.looked_at < RECHECK_EVERY:
        return False
    if invitable_devices(round_, now=now).order_by()[:1].exists():
        return True
    Round.objects.filter(pk=round_.pk, state=Round.State.OPEN).update(looked_at=now)
    return False


def invite(*, round_: Round, now: datetime) -> None:
    """Invite as many ready devices as the pace wants in an open round, chosen by the plan's selection, and wake them.

    At most `INVITED_AT_ONCE` at a time, so that the round's row is not locked for long. Devices wanted beyond the ready
    ones become places, which devices take when they check in. The caller holds the round's row.
    """
    view = view_of(round_, now=now)
    if not wants_others(round_=round_, view=view, now=now):
        return
    candidates = [str(pk) for pk in invitable_devices(round_, now=now).order_by().values_list("pk", flat=True)]
    plan = round_.parsed_plan()
    wanted = plan.pace.decide(view).devices
    count = min(wanted, len(candidates))
    chosen = plan.selection.choose(
        history_of(round_, candidates)
        if plan.selection.reads_history
        else [DeviceFacts(device) for device in candidates],
        count=min(count, INVITED_AT_ONCE),
        round_number=round_.number,
        seed=round_.seed,
    )
    created = create_assignments(round_=round_, devices=[UUID(device) for device in chosen], now=now)
    round_.places, round_.at_work = wanted - count, view.live + len(created)
    round_.looked_at = now
    round_.save(update_fields=["places", "at_work", "looked_at"])
    if not created:
        return
    explain(round_, why_collecting(round_), now=now)
    wake_devices(str(part.device_id) for part in created)
    if count > len(chosen):
        ADVANCE.send(federation=str(round_.federation_id))


@transaction.atomic
def take_place(*, round_: Round, device: Device, now: datetime) -> Assignment | None:
    """Invite a ready device that is checking in, where the round has a place left; None where it has none."""
    if not Round.objects.filter(pk=round_.pk, state=Round.State.OPEN, places__gt=0).update(places=F("places") - 1):
        return None
    return next(iter(create_assignments(round_=round_, devices=[device.pk], now=now)), None)


def create_assignments(*, round_: Round, devices: Sequence[UUID], now: datetime) -> Sequence[Assignment]:
    """Create assignments in an open round; devices that another federation invited a moment ago are left out.

    So are devices whose cloud model was replaced a moment ago, until the sweep has made the new one's weights.
    """
    lineages = _Lineages(round_, devices)
    devices = [device for device in devices if lineages.can_begin(device)]
    if not devices:
        return ()
    parts = [
        Assignment(
            round=round_,
            device_id=device,
            base_version=lineages.base_version(device),
            teacher=lineages.teacher(device),
            seed=derive_seed(round_.seed, "device", str(device)),
            offered_at=now,
            changed_at=now,
        )
        for device in devices
    ]
    insert_all(parts, or_nothing=True)
    stored = set(Assignment.objects.filter(round=round_, offered_at=now).order_by().values_list("pk", flat=True))
    created = [part for part in parts if part.pk in stored]
    record_events(
        [
            RoundEvent(round_id=round_.pk, at=now, kind=RoundEvent.Kind.ASKED, device_id=part.device_id)
            for part in created
        ]
    )
    route_parts(round_=round_, parts=created, now=now)
    return created


class _Lineages:
    """The versions with which the devices of a round begin: their groups', or the federation's."""

    def __init__(self, round_: Round, devices: Sequence[UUID]) -> None:
        plan = round_.parsed_plan()
        assert round_.base_version is not None, "only an open round invites"
        self._of = lineages_of(round_.federation, devices, plan=plan)
        pair_id = round_.federation.pair_id
        self._device: dict[str, ModelVersion] = {}
        self._cloud: dict[str, ModelVersion] = {}
        self._without_weights: set[str] = set()
        for lineage in set(self._of.values()):
            version = champion(pair_id, Role.DEVICE, lineage)
            if version is not None:
                self._device[lineage] = version
            teacher = teacher_of(round_.federation, plan, lineage)
            if teacher is not None:
                self._cloud[lineage] = teacher
                if not has_teacher_weights(teacher):
                    self._without_weights.add(lineage)
        if not round_.carries_on:  # all begin with the round's base, and otherwise with the newest version
            self._device[round_.federation.lineage()] = round_.base_version

    def can_begin(self, device: UUID) -> bool:
        return self._of[device] not in self._without_weights

    def base_version(self, device: UUID) -> ModelVersion:
        return self._device[self._of[device]]

    def teacher(self, device: UUID) -> ModelVersion | None:
        return self._cloud.get(self._of[device])
