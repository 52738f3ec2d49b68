"""What devices report about their assignments, and what happens when they stop reporting."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import IntegrityError, connection, transaction
from django.db.models import Q, QuerySet

from coterie.core.events import notify_consoles
from coterie.core.row_keys import key_of
from coterie.core.rows import Row, update_each
from coterie.federations.selectors import is_declined
from coterie.fleet.declining import declined_by
from coterie.fleet.models import Device
from coterie.fleet.presence import is_absent, is_silent_since
from coterie.rounds import reasons
from coterie.rounds.errors import NotYourAssignment, UnknownAssignment
from coterie.rounds.intervals import IS_ASKED_OFTEN
from coterie.rounds.models import HAS_TIME, Assignment, Round, RoundEvent
from coterie.rounds.selectors import live_parts
from coterie.rounds.transitions import end_assignment, end_assignments, record_event, record_events
from coterie_wire.conditions import Reason
from coterie_wire.messages import Progress

PROGRESS = ("state", "changed_at", "stage", "steps_done", "steps_total")


def own_assignment(*, device: Device, assignment_id: str) -> Assignment:
    """The device's assignment of that name. Raises UnknownAssignment or NotYourAssignment."""
    key = key_of(assignment_id, UnknownAssignment(assignment=assignment_id))
    assignment = Assignment.objects.select_related("round__federation", "base_version__pair").filter(pk=key).first()
    if assignment is None:
        raise UnknownAssignment(assignment=assignment_id)
    if assignment.device_id != device.pk:
        raise NotYourAssignment(assignment=assignment_id)
    return assignment


class ProgressReport(NamedTuple):
    """The progress that a device reports of its assignment."""

    assignment: Assignment
    progress: Progress


def record_progress(*, reports: Sequence[ProgressReport], now: datetime) -> None:
    """Store the progress of devices; reports on an assignment that has ended, or is just ending, are ignored."""
    if not reports:
        return
    progress_of = {assignment.pk: progress for assignment, progress in reports}
    live = Assignment.objects.filter(pk__in=progress_of, state__in=Assignment.LIVE)
    live = live.filter(HAS_TIME)
    with transaction.atomic():  # together, or the stage might be stored after the update that ended it
        locked = list(
            live.select_for_update(
                of=("self",), no_key=True, skip_locked=connection.features.has_select_for_update_skip_locked
            )
        )
        update_each(Assignment, PROGRESS, [_progressed(part, progress_of[part.pk], now) for part in locked], where={})
        news = [part for part in locked if part.stage != progress_of[part.pk].stage]
        record_events(
            [
                RoundEvent(round_id=part.round_id, at=now, kind=progress_of[part.pk].stage, device_id=part.device_id)
                for part in news
            ]
        )
    if locked:
        notify_consoles("rounds")


def _progressed(part: Assignment, progress: Progress, now: datetime) -> Row:
    changed_at = now if part.state == Assignment.State.OFFERED else part.changed_at
    return Row(
        part.pk, (Assignment.State.ACCEPTED, changed_at, progress.stage, progress.steps_done, progress.steps_total)
    )


def revive(*, assignment: Assignment, now: datetime) -> None:
    """Restore a dropped assignment that still has time, unless its device has been given another since."""
    try:
        with transaction.atomic():
            back = Assignment.objects.filter(HAS_TIME, pk=assignment.pk, state=Assignment.State.DROPPED).update(
                state=Assignment.State.OFFERED, reason_code="", reason_sentence="", changed_at=now
            )
            if back:
                record_event(assignment.round_id, RoundEvent.Kind.BACK, now=now, device_id=assignment.device_id)
                assignment.state = Assignment.State.OFFERED
    except IntegrityError:
        return  # A device has one live assignment: it keeps the other one.


@transaction.atomic
def release_assignment(*, device: Device, assignment_id: str, reason: Reason, now: datetime) -> None:
    """Give an assignment back; nothing happens if it has ended. Raises UnknownAssignment or NotYourAssignment."""
    assignment = own_assignment(device=device, assignment_id=assignment_id)
    end_assignment(assignment, Assignment.State.RELEASED, reason=reason, now=now)


def release_declined(devices: Sequence[Device], *, now: datetime) -> None:
    """Release assignments in federations that the devices' owners decline, or whose plans ask what they decline."""
    declining = {device.pk: device for device in devices if declined_by(device)}
    if not declining:
        return
    parts = Assignment.objects.filter(device__in=declining, state__in=Assignment.UNENDED).select_related(
        "round__federation"
    )
    for part in parts:
        device = declining[part.device_id]
        if is_declined(device, part.round.federation):
            reason = reasons.taken_back(declined_by(device))
            end_assignment(part, Assignment.State.RELEASED, reason=reason, now=now)


def are_parts_lost(*, round_: Round, now: datetime) -> bool:
    """Whether `drop_absent` would end any assignment."""
    lost = live_parts(round_).filter(_is_silent(round_, now) | IS_GONE).exists()
    return lost or (round_.carries_on and _overdue(round_, now).exists())


def drop_absent(*, round_: Round, now: datetime) -> None:
    """End the assignments of devices that are silent for longer than the pace allows, or have left the fleet.

    Also those that an asynchronous round carried over and whose time is up.
    """
    silent = live_parts(round_).filter(_is_silent(round_, now))
    end_assignments(silent, Assignment.State.DROPPED, reason=reasons.ABSENT, now=now)
    end_assignments(live_parts(round_).filter(IS_GONE), Assignment.State.RELEASED, reason=reasons.GONE, now=now)
    if round_.carries_on:
        end_assignments(_overdue(round_, now), Assignment.State.RELEASED, reason=reasons.OVERDUE, now=now)


IS_GONE = ~Q(device__state=Device.State.ENROLLED)
"""The filter for assignments whose device was revoked or has left."""


def _overdue(round_: Round, now: datetime) -> QuerySet[Assignment]:
    since = now - timedelta(seconds=round_.parsed_plan().pace.deadline_after_s())
    carried = Assignment.objects.filter(round__federation=round_.federation_id, round__carries_on=True)
    return carried.filter(state__in=Assignment.UNENDED, offered_at__lt=since).order_by()


def _is_silent(round_: Round, now: datetime) -> Q:
    """The filter for assignments whose device is silent: counted from the offer on, before which it checks in rarely.

    In a large fleet a device is told to check in less often than the pace's limit: it is silent if it misses that time.
    """
    since = now - timedelta(seconds=round_.parsed_plan().pace.absence_after_s())
    was_due = IS_ASKED_OFTEN | is_absent(now, of="device__")
    return was_due & is_silent_since(since, of="device__") & Q(offered_at__lt=since)
