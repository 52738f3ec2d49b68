"""Uploads of partial aggregates: offered by the supernode that was asked, received in parts, checked and stored."""

from datetime import datetime

from django.db import transaction

from coterie.fleet.models import Device
from coterie.fleet.services import quarantine_device
from coterie.merging.files import updates_of
from coterie.merging.models import Partial
from coterie.rounds import reasons
from coterie.rounds.branches import FOLDS, send_sum_directly
from coterie.rounds.errors import FoldEnded, PartialTooLarge
from coterie.rounds.files import PARTIALS
from coterie.rounds.fold_tree import all_shares, live_folds, own_fold, weighed_fingerprints
from coterie.rounds.folding import give_up
from coterie.rounds.jobs import ADVANCE
from coterie.rounds.models import Fold, Round
from coterie.rounds.routing import check_seed
from coterie.storage.arrivals import UploadTarget, WrongHash
from coterie_learning.partial_sums import PartialFile, most_bytes, sum_specs
from coterie_wire.bundle import BlobRef
from coterie_wire.errors import WireError
from coterie_wire.messages import UploadState
from coterie_wire.relaying import OfferPartial
from coterie_wire.tensor_files import OpenFile


def offer_partial(*, device: Device, offer: OfferPartial, now: datetime) -> UploadState:
    """Announce a sum, or ask how much of it has arrived. Offering an accepted one again changes nothing.

    One that should go through another supernode, but has not, goes to the platform from then on. Raises UnknownFold,
    NotYourFold, FoldEnded or PartialTooLarge.
    """
    fold = own_fold(device, offer.fold)
    if fold.state == Fold.State.ACCEPTED:
        return UploadState(offset=fold.size_bytes, accepted=True)
    _take_directly(fold, now)
    limit_bytes = _largest_bytes(fold)
    if not 0 < offer.size_bytes <= limit_bytes:
        raise PartialTooLarge(size_bytes=offer.size_bytes, limit_bytes=limit_bytes)
    if (fold.sha256, fold.size_bytes) != (offer.sha256, offer.size_bytes):
        PARTIALS.discard(fold.pk)
        Fold.objects.filter(pk=fold.pk).update(sha256=offer.sha256, size_bytes=offer.size_bytes)
    if PARTIALS.arrived_bytes(fold.pk, offer.sha256) >= offer.size_bytes:
        return complete_upload(device, offer.fold, now)
    return UploadState(offset=PARTIALS.arrived_bytes(fold.pk, offer.sha256))


def open_upload(device: Device, fold_id: str, offset: int, now: datetime) -> UploadTarget:  # noqa: ARG001 - a seam
    """Where to write a sum's bytes from `offset` on. Raises UnknownFold, NotYourFold, FoldEnded or WrongOffset."""
    fold = own_fold(device, fold_id)
    return PARTIALS.target(fold.pk, sha256=fold.sha256, offset=offset, size_bytes=fold.size_bytes)


def complete_upload(device: Device, fold_id: str, now: datetime) -> UploadState:
    """Check the sum against the fingerprints that its devices submitted, and store it.

    A supernode that sent another sum is put into quarantine, until an operator releases it. Raises UnknownFold,
    NotYourFold, FoldEnded, WrongHash, or WireError ``partial.*`` or ``tensors.malformed``.
    """
    fold = own_fold(device, fold_id)
    if fold.state == Fold.State.ACCEPTED:
        return UploadState(offset=fold.size_bytes, accepted=True)
    arrived = PARTIALS.arrived_bytes(fold.pk, fold.sha256)
    if not fold.size_bytes or arrived < fold.size_bytes:
        return UploadState(offset=arrived)
    try:
        _store_checked(fold)
    except FileNotFoundError:
        return UploadState(offset=0)
    except WrongHash:
        PARTIALS.discard(fold.pk)  # it may have been damaged here, and is asked for again
        raise
    except WireError as error:
        _reject_sum(fold, str(error), now)
        raise
    return _accept(fold, now)


@transaction.atomic
def _take_directly(fold: Fold, now: datetime) -> None:
    """Have the sum sent directly to the platform. Raises FoldEnded if the parent supernode holds it."""
    if fold.parent_id is None:
        return
    Round.objects.select_for_update(no_key=True).get(pk=fold.round_id)
    fold.refresh_from_db()
    if fold.state == Fold.State.HELD:
        raise FoldEnded(fold=str(fold.pk))
    if send_sum_directly(fold=fold, reason=reasons.PARENT_AWAY, now=now):
        ADVANCE.send(federation=str(fold.round.federation_id))


def _store_checked(fold: Fold) -> None:
    plan, base = fold.round.parsed_plan(), fold.round.base_version
    assert base is not None, "an open round has a base"
    members = weighed_fingerprints(all_shares(fold, live_folds(fold.round_id)), tier=0)
    if members is None:
        raise FoldEnded(fold=str(fold.pk))
    with PARTIALS.verified(fold.pk, sha256=fold.sha256) as file:
        source = OpenFile(file.fileno(), fold.size_bytes)
        partial = PartialFile(source, expected=sum_specs(base.pair.model_spec(), plan.local), of=str(fold.pk))
        partial.check(check_seed(fold.round, fold.supernode), members)
        updates_of(fold.round_id).put_verified(file, BlobRef(fold.sha256, fold.size_bytes))


@transaction.atomic
def _accept(fold: Fold, now: datetime) -> UploadState:
    Round.objects.select_for_update(no_key=True).get(pk=fold.round_id)
    fold.refresh_from_db()
    if fold.state == Fold.State.VOID:
        raise FoldEnded(fold=str(fold.pk))
    if fold.state == Fold.State.ASKED:
        partial = Partial.objects.create(
            id=fold.pk,
            supernode=fold.supernode,
            cohort=fold.round_id,
            sha256=fold.sha256,
            size_bytes=fold.size_bytes,
            weights={share.assignment: share.weight for share in all_shares(fold, live_folds(fold.round_id))},
            received_at=now,
        )
        FOLDS.take(fold, Fold.State.ACCEPTED, reason=None, partial=partial)
        transaction.on_commit(lambda: PARTIALS.discard(fold.pk))
        ADVANCE.send(federation=str(fold.round.federation_id))
    return UploadState(offset=fold.size_bytes, accepted=True)


@transaction.atomic
def _reject_sum(fold: Fold, sentence: str, now: datetime) -> None:
    round_ = (
        Round.objects.select_for_update(of=("self",), no_key=True).select_related("federation").get(pk=fold.round_id)
    )
    reason = reasons.altered(fold.supernode.name, sentence)
    give_up(round_=round_, fold=fold, reason=reason, now=now)
    quarantine_device(device=fold.supernode, why=reason.sentence, now=now)
    transaction.on_commit(lambda: PARTIALS.discard(fold.pk))
    ADVANCE.send(federation=str(round_.federation_id))


def _largest_bytes(fold: Fold) -> int:
    base = fold.round.base_version
    assert base is not None, "an open round has a base"
    return most_bytes(base.pair.model_spec(), fold.round.parsed_plan().local)
