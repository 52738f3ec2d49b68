"""Takes a device that is to be forgotten out of current work: its assignments end, and its updates go into no merge.

What is in a sum already stays until the sum's end: a running merge has read it, a supernode or a secure sum holds it
among others.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q, QuerySet

from coterie.analytics.models import Question
from coterie.federations.models import Federation
from coterie.fleet.models import Device
from coterie.merging.models import Update
from coterie.owners.files import Leftover
from coterie.owners.reasons import FORGOTTEN
from coterie.rounds.jobs import ADVANCE
from coterie.rounds.models import Assignment, Round, RoundEvent, Upload
from coterie.rounds.transitions import end_assignments, record_event
from coterie.transfer.advancing import abandon, give_up, locked_request
from coterie.transfer.models import HelpRequest, Transfer
from coterie.transfer.transitions import live_transfer

UNDER_WAY = (Round.State.OPEN, Round.State.CLOSING, Round.State.MERGING)


def hold_rounds(device: Device) -> None:
    """Lock the rows of the federations and rounds in which the device may take part, in the common order."""
    parts = Assignment.objects.filter(device=device).order_by().values("round__federation")
    federations = list(Federation.objects.select_for_update(no_key=True).filter(pk__in=parts).order_by("pk"))
    list(
        Round.objects.select_for_update(no_key=True)
        .filter(federation__in=federations, state__in=Round.ACTIVE)
        .order_by("pk")
    )


def take_out(device: Device, *, now: datetime) -> tuple[int, Sequence[Leftover]]:
    """Take it out of rounds (locked) and transfers; returns the number of its removed updates, and their files."""
    unended = Assignment.objects.filter(device=device, state__in=Assignment.UNENDED)
    arriving = list(unended.values_list("pk", flat=True))
    uploads = Upload.objects.filter(assignment__device=device).exclude(assignment__route__held_at__isnull=False)
    offered = list(uploads.values_list("assignment__round_id", "sha256"))
    end_assignments(unended, Assignment.State.RELEASED, reason=FORGOTTEN, now=now)
    Upload.objects.filter(assignment__device=device).delete()
    _end_help(device, now)
    waiting = list(Update.objects.filter(device=device, merge=None, partial=None).select_related("assignment"))
    for update in waiting:
        _take_out_update(update, now)
    files = [
        *(Leftover(cohort=cohort, sha256=sha256) for cohort, sha256 in offered),
        *(Leftover(cohort=update.cohort, sha256=update.sha256) for update in waiting),
        *(Leftover(arriving=assignment) for assignment in arriving),
    ]
    return sum(1 for update in waiting if not update.fault_code), files


def in_sums(device: Device) -> QuerySet[Assignment]:
    """Its assignments in active rounds from whose sums it cannot be taken out."""
    is_in = Q(state__in=(Assignment.State.JOINED, Assignment.State.DELIVERED))
    active = Q(taken_by__state__in=UNDER_WAY) | Q(taken_by=None, round__state__in=UNDER_WAY)
    is_held = Q(route__held_at__isnull=False, round__state__in=UNDER_WAY)
    mine = Assignment.objects.filter(device=device).select_related("round__federation", "taken_by")
    return mine.filter((is_in & active) | is_held)


def open_question(device: Device) -> Question | None:
    """An open question from whose sum it cannot be taken out."""
    active = Question.objects.filter(state__in=(Question.State.OPEN, Question.State.SUMMING))
    return active.filter(sum__parties__device=device).select_related("federation").first()


def _take_out_update(update: Update, now: datetime) -> None:
    assignment = update.assignment
    taken_by = assignment.taken_by_id
    Assignment.objects.filter(pk=assignment.pk).update(
        update=None,
        state=Assignment.State.REJECTED,
        reason_code=FORGOTTEN.code,
        reason_sentence=FORGOTTEN.sentence,
        changed_at=now,
    )
    update.delete()
    record_event(
        taken_by or assignment.round_id, RoundEvent.Kind.REJECTED, reason=FORGOTTEN, now=now, device_id=update.device_id
    )
    round_ = None if taken_by is None else Round.objects.filter(pk=taken_by, state__in=UNDER_WAY).first()
    if round_ is not None and not update.fault_code:
        round_.updates_in -= 1
        round_.save(update_fields=["updates_in"])
        ADVANCE.send(federation=str(round_.federation_id))


def _end_help(device: Device, now: datetime) -> None:
    """End its own help request, and transfers of its portions that are not merged yet."""
    for key in HelpRequest.objects.filter(device=device, state__in=HelpRequest.LIVE).values_list("pk", flat=True):
        request = locked_request(key)
        if request is not None and request.is_live:
            abandon(request, FORGOTTEN, now=now)
    given = Transfer.objects.filter(helper=device, state__in=Transfer.LIVE)
    for key in given.values_list("request", flat=True):
        request = locked_request(key)
        transfer = None if request is None else live_transfer(request)
        if request is not None and transfer is not None and transfer.helper_id == device.pk:
            give_up(request, transfer, Transfer.State.WITHDRAWN, FORGOTTEN, now=now)
