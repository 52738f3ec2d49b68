"""Updates and sums that a supernode holds: recorded by its receipt, and not counted before its sum has arrived."""

from datetime import datetime

from django.db import transaction

from coterie.fleet.models import Device
from coterie.rounds.assigning import own_assignment, revive
from coterie.rounds.branches import FOLDS
from coterie.rounds.ending import close_if_full
from coterie.rounds.errors import AssignmentClosed, FoldEnded, NotOffered, RouteEnded, SumRouteEnded
from coterie.rounds.fold_tree import live_folds, own_fold, roll
from coterie.rounds.models import Assignment, Fold, Round, Route, Upload
from coterie.rounds.routing import peer_key_of
from coterie_wire.messages import UploadState
from coterie_wire.relaying import HandIn, HandInSum, verify_receipt, verify_sum_receipt


@transaction.atomic
def record_receipt(*, device: Device, message: HandIn, now: datetime) -> UploadState:
    """Record the receipt for an update that was offered; submitting the same one again changes nothing.

    Raises UnknownAssignment, NotYourAssignment, AssignmentClosed, RouteEnded, NotOffered, or WireError
    ``relay.bad_receipt``.
    """
    found = own_assignment(device=device, assignment_id=message.assignment)
    round_ = (
        Round.objects.select_for_update(of=("self",), no_key=True).select_related("federation").get(pk=found.round_id)
    )
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
        tier_fingerprints = [
            list(one) for one in message.tier_fingerprints[: len(round_.parsed_plan().topology.tiers())]
        ]
        Route.objects.filter(pk=route.pk).update(
            held_at=now, norm=receipt.norm, fingerprint=fingerprint, tier_fingerprints=tier_fingerprints
        )
        round_.updates_in += 1
        round_.save(update_fields=["updates_in"])
        close_if_full(round_=round_, now=now)
    return UploadState(offset=upload.size_bytes, held=route.epoch)


@transaction.atomic
def record_sum_receipt(*, device: Device, message: HandInSum, now: datetime) -> UploadState:
    """Record the receipt for a sum that was requested; submitting the same one again changes nothing.

    Raises UnknownFold, NotYourFold, FoldEnded, SumRouteEnded, or WireError ``relay.bad_receipt``.
    """
    found = own_fold(device, message.fold)
    Round.objects.select_for_update(no_key=True).get(pk=found.round_id)
    folds = live_folds(found.round_id)
    fold = folds.get(device.pk)
    if fold is None or fold.pk != found.pk:
        raise FoldEnded(fold=message.fold)
    key = None if fold.parent is None else peer_key_of(fold.parent)
    if key is None:
        raise SumRouteEnded(fold=message.fold)
    receipt = verify_sum_receipt(message.receipt, key)
    if (receipt.fold, receipt.epoch, receipt.roll) != (str(fold.pk), fold.epoch, roll(fold, folds)):
        raise SumRouteEnded(fold=message.fold)
    if fold.state == Fold.State.ASKED:
        FOLDS.take(fold, Fold.State.HELD, reason=None, held_at=now, sha256=receipt.sha256)
    return UploadState(offset=0, held=fold.epoch)
