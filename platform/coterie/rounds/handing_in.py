"""Updates that a supernode holds: handed in with its receipt, and not counted before their sum has come."""

from datetime import datetime

from django.db import transaction

from coterie.fleet.models import Device
from coterie.rounds.assigning import own_assignment, revive
from coterie.rounds.ending import close_if_full
from coterie.rounds.errors import AssignmentClosed, NotOffered, RouteEnded
from coterie.rounds.models import Assignment, Round, Route, Upload
from coterie.rounds.routing import peer_key_of
from coterie_wire.messages import UploadState
from coterie_wire.relaying import HandIn, verify_receipt


@transaction.atomic
def hand_in(*, device: Device, message: HandIn, now: datetime) -> UploadState:
    """Take note of the receipt for an update that was offered; handing the same in again changes nothing.

    Raises UnknownAssignment, NotYourAssignment, AssignmentClosed, RouteEnded, NotOffered, or WireError
    ``relay.bad_receipt``.
    """
    found = own_assignment(device=device, assignment_id=message.assignment)
    round_ = Round.objects.select_for_update(of=("self",)).select_related("federation").get(pk=found.round_id)
    assignment = Assignment.objects.get(pk=found.pk)
    route = Route.objects.select_related("supernode").filter(pk=found.pk).first()
    if route is None or route.supernode is None:
        raise RouteEnded(assignment=message.assignment)
    key = peer_key_of(route.supernode)
    if key is None:
        raise RouteEnded(assignment=message.assignment)
    receipt = verify_receipt(message.receipt, key)
    if receipt.assignment != str(route.pk) or receipt.epoch != route.epoch:
        raise RouteEnded(assignment=message.assignment)
    upload = Upload.objects.filter(pk=route.pk).first()
    if upload is None or upload.sha256 != receipt.sha256:
        raise NotOffered(assignment=message.assignment)
    if route.held_at is None:
        if assignment.state not in Assignment.UNENDED or round_.state != Round.State.OPEN or round_.gathers_since:
            raise AssignmentClosed(assignment=message.assignment, state=f"its round is {round_.state}")
        revive(assignment=assignment, now=now)
        fingerprint = list(message.fingerprint)
        Route.objects.filter(pk=route.pk).update(held_at=now, norm=receipt.norm, fingerprint=fingerprint)
        round_.updates_in += 1
        round_.save(update_fields=["updates_in"])
        close_if_full(round_=round_, now=now)
    return UploadState(offset=upload.size_bytes, held=route.epoch)
