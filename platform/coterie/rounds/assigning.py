"""What devices tell about their assignments, and what happens when they stop telling."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q

from coterie.core.events import tell_consoles
from coterie.fleet.models import Device
from coterie.rounds import reasons
from coterie.rounds.errors import NotYourAssignment, UnknownAssignment
from coterie.rounds.jobs import ADVANCE
from coterie.rounds.models import Assignment, Round, RoundEvent
from coterie.rounds.transitions import end_assignment, tell
from coterie_wire.conditions import Reason
from coterie_wire.messages import Progress


def own_assignment(*, device: Device, assignment_id: str) -> Assignment:
    """The device's assignment of that name. Raises UnknownAssignment or NotYourAssignment."""
    try:
        key = UUID(assignment_id)
    except ValueError as error:
        raise UnknownAssignment(assignment=assignment_id) from error
    assignment = Assignment.objects.select_related("round__federation", "base_version__pair").filter(pk=key).first()
    if assignment is None:
        raise UnknownAssignment(assignment=assignment_id)
    if assignment.device_id != device.pk:
        raise NotYourAssignment(assignment=assignment_id)
    return assignment


def record_progress(*, device: Device, progress: Progress, now: datetime) -> None:
    """Keep how far the device is; what it says of an assignment that has ended is passed over."""
    try:
        assignment = own_assignment(device=device, assignment_id=progress.assignment)
    except (UnknownAssignment, NotYourAssignment):
        return  # The directive that answers this names the assignment that it should have.
    figures = {"stage": progress.stage, "steps_done": progress.steps_done, "steps_total": progress.steps_total}
    own = Assignment.objects.filter(pk=assignment.pk, round__state=Round.State.OPEN)
    with transaction.atomic():  # together, or the stage might be told after the update that ended it
        taken = own.filter(state=Assignment.State.ACCEPTED).update(**figures) or own.filter(
            state=Assignment.State.OFFERED
        ).update(state=Assignment.State.ACCEPTED, changed_at=now, **figures)
        if taken and assignment.stage != progress.stage:
            tell(assignment.round_id, RoundEvent.Kind(progress.stage), now=now, device_id=device.pk)
    if taken:
        tell_consoles("rounds")


def revive_dropped(*, device: Device, now: datetime) -> None:
    """A device that was given up speaks again: its assignment lives again as long as the round is open."""
    dropped = Assignment.objects.filter(device=device, state=Assignment.State.DROPPED, round__state=Round.State.OPEN)
    for assignment in dropped:
        revive(assignment=assignment, now=now)


def revive(*, assignment: Assignment, now: datetime) -> None:
    """Let a dropped assignment of an open round live again, unless its device has been given another since."""
    try:
        with transaction.atomic():
            back = Assignment.objects.filter(
                pk=assignment.pk, state=Assignment.State.DROPPED, round__state=Round.State.OPEN
            ).update(state=Assignment.State.OFFERED, reason_code="", reason_sentence="", changed_at=now)
            if back:
                tell(assignment.round_id, RoundEvent.Kind.BACK, now=now, device_id=assignment.device_id)
    except IntegrityError:
        return  # One live assignment a device: the other one stands.


@transaction.atomic
def release_assignment(*, device: Device, assignment_id: str, reason: Reason, now: datetime) -> None:
    """Give an assignment back; nothing happens if it has ended. Raises UnknownAssignment or NotYourAssignment."""
    assignment = own_assignment(device=device, assignment_id=assignment_id)
    if end_assignment(assignment, Assignment.State.RELEASED, reason=reason, now=now):
        ADVANCE.send(federation=str(assignment.round.federation_id))


def drop_absent(*, round_: Round, now: datetime) -> None:
    """Give up the assignments of devices that are silent for longer than the pace allows, or have left the fleet.

    Silence begins with the offer at the earliest: until then the device had no reason to speak often.
    """
    silent_since = now - timedelta(seconds=round_.parsed_plan().pace.absence_after_s())
    live = Assignment.objects.filter(round=round_, state__in=Assignment.LIVE)
    for assignment in live.filter(device__last_seen_at__lt=silent_since, offered_at__lt=silent_since):
        end_assignment(assignment, Assignment.State.DROPPED, reason=reasons.ABSENT, now=now)
    for assignment in live.filter(~Q(device__state=Device.State.ENROLLED)):
        end_assignment(assignment, Assignment.State.RELEASED, reason=reasons.GONE, now=now)
