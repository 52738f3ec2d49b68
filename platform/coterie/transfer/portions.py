"""Portions in transit: offered by the helper, received in parts, verified, stored, and fetched by the requester."""

from datetime import datetime
from typing import BinaryIO

from django.db import transaction

from coterie.core.events import notify_consoles, wake_device
from coterie.fleet.models import Device
from coterie.storage.arrivals import UploadTarget, WrongHash
from coterie.transfer import reasons
from coterie.transfer.advancing import give_up, locked_request
from coterie.transfer.errors import NotDelivered, PortionNotOffered, PortionTooLarge, TransferEnded
from coterie.transfer.files import ARRIVING, portion_of
from coterie.transfer.models import Transfer
from coterie.transfer.routes import decide_way
from coterie.transfer.selectors import transfer_from, transfer_to
from coterie.transfer.transitions import State, step, step_transfer
from coterie_learning.portions.payload import decode_portion
from coterie_wire.bundle import BlobRef
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.helping import OfferPortion, ReportReceived
from coterie_wire.messages import UploadState


def offer_portion(*, device: Device, offer: OfferPortion, now: datetime) -> UploadState:
    """Announce a portion, or ask how much of it has arrived. Offering a delivered portion again changes nothing.

    Raises UnknownTransfer, TransferEnded or PortionTooLarge, and what `complete_upload` raises.
    """
    transfer = transfer_from(device, offer.transfer)
    limit_bytes = transfer.request.terms().largest_bytes
    if offer.size_bytes > limit_bytes:
        fault = PortionTooLarge(size_bytes=offer.size_bytes, limit_bytes=limit_bytes)
        _reject(transfer, fault.reason(), now)
        raise fault
    with transaction.atomic():
        locked_request(transfer.request_id)
        transfer.refresh_from_db(fields=["state", "sha256", "size_bytes", "way"])
        if transfer.state in Transfer.WITH_HELPER:
            if transfer.sha256 != offer.sha256:
                ARRIVING.discard(transfer.pk)
            Transfer.objects.filter(pk=transfer.pk).update(sha256=offer.sha256, size_bytes=offer.size_bytes)
            notify_consoles("transfer")
            if transfer.way == Transfer.Way.TRYING:
                wake_device(str(transfer.request.device_id))
        elif not _has_delivered(transfer, offer.sha256):
            raise _ended(transfer)
        else:
            return UploadState(offset=transfer.size_bytes, accepted=True)
    arrived = ARRIVING.arrived_bytes(transfer.pk, offer.sha256)
    if arrived >= offer.size_bytes:
        return complete_upload(device, offer.transfer, now)
    return UploadState(offset=arrived)


def open_upload(device: Device, transfer_id: str, offset: int, now: datetime) -> UploadTarget:  # noqa: ARG001 - a seam
    """Where to write an offered portion's bytes from `offset` on.

    Raises UnknownTransfer, TransferEnded, PortionNotOffered or WrongOffset.
    """
    transfer = transfer_from(device, transfer_id)
    _check_takes_portion(transfer)
    return ARRIVING.target(transfer.pk, sha256=transfer.sha256, offset=offset, size_bytes=transfer.size_bytes)


def complete_upload(device: Device, transfer_id: str, now: datetime) -> UploadState:
    """Verify the upload and store it for the device that asked; it is on disk when this returns.

    An invalid portion ends its transfer, and another helper is asked. Raises UnknownTransfer, TransferEnded,
    PortionNotOffered, WrongHash, or WireError ``portion.*`` or ``update.*``.
    """
    transfer = transfer_from(device, transfer_id)
    if _has_delivered(transfer, transfer.sha256):
        return UploadState(offset=transfer.size_bytes, accepted=True)
    _check_takes_portion(transfer)
    arrived = ARRIVING.arrived_bytes(transfer.pk, transfer.sha256)
    if arrived < transfer.size_bytes:
        return UploadState(offset=arrived)
    try:
        payload = ARRIVING.read(transfer.pk, sha256=transfer.sha256)
        decode_portion(transfer.request.terms(), payload)
    except FileNotFoundError:  # another request has just taken it
        return UploadState(offset=0)
    except (WrongHash, WireError) as error:
        _reject(transfer, Reason(error.code, str(error)[:400]), now)
        raise
    portion_of(transfer.pk).put_bytes(payload)
    return _store(transfer, now)


@transaction.atomic
def report_received(*, device: Device, report: ReportReceived, now: datetime) -> None:
    """Record as delivered a portion that the device fetched from its helper, or have the helper upload it.

    Nothing happens where that is decided already. Raises UnknownTransfer.
    """
    transfer = transfer_to(device, report.transfer)
    request = locked_request(transfer.request_id)
    assert request is not None, "transfers go with their requests"
    transfer.refresh_from_db()
    if transfer.way != Transfer.Way.TRYING or transfer.state not in Transfer.WITH_HELPER or not transfer.sha256:
        return
    if report.failed is not None:
        decide_way(transfer, Transfer.Way.PLATFORM, report.failed)
    elif step_transfer(transfer, Transfer.State.DELIVERED, delivered_at=now):
        decide_way(transfer, Transfer.Way.DIRECT, reasons.FETCHED_DIRECTLY)
        if request.state == State.MATCHED:
            step(request, State.REQUESTED, reason=reasons.SERVING, now=now)
        step(request, State.DELIVERED, reason=reasons.WAITING, now=now, due_in_s=request.rules().judge_s)
        wake_device(str(device.pk))
    wake_device(str(transfer.helper_id))


def open_portion(*, device: Device, transfer_id: str) -> tuple[BinaryIO, BlobRef]:
    """The portion for the device that asked, until it has judged it.

    Raises UnknownTransfer, NotDelivered or TransferEnded.
    """
    transfer = transfer_to(device, transfer_id)
    if transfer.state in Transfer.WITH_HELPER:
        raise NotDelivered(transfer=transfer_id)
    if transfer.state not in Transfer.WITH_TARGET:
        raise _ended(transfer)
    try:
        return portion_of(transfer.pk).open(transfer.sha256), transfer.portion()
    except FileNotFoundError as error:
        raise _ended(transfer) from error


@transaction.atomic
def _store(transfer: Transfer, now: datetime) -> UploadState:
    request = locked_request(transfer.request_id)
    assert request is not None, "transfers go with their requests"
    delivered = step_transfer(transfer, Transfer.State.DELIVERED, delivered_at=now)
    if not delivered and not _has_delivered(transfer, transfer.sha256):
        portion_of(transfer.pk).clear()
        raise _ended(transfer)
    if delivered:
        decide_way(transfer, Transfer.Way.PLATFORM, reasons.NOT_FETCHED)
        if request.state == State.MATCHED:  # the helper served before it was told by its check-in
            step(request, State.REQUESTED, reason=reasons.SERVING, now=now)
        step(request, State.DELIVERED, reason=reasons.WAITING, now=now, due_in_s=request.rules().judge_s)
        transaction.on_commit(lambda: ARRIVING.discard(transfer.pk))
        wake_device(str(request.device_id))
    return UploadState(offset=transfer.size_bytes, accepted=True)


@transaction.atomic
def _reject(transfer: Transfer, reason: Reason, now: datetime) -> None:
    request = locked_request(transfer.request_id)
    assert request is not None, "transfers go with their requests"
    transfer.refresh_from_db(fields=["state"])
    if transfer.state in Transfer.WITH_HELPER:
        give_up(request, transfer, Transfer.State.REJECTED, reason, now=now)


def _check_takes_portion(transfer: Transfer) -> None:
    if transfer.state not in Transfer.WITH_HELPER:
        raise _ended(transfer)
    if not transfer.sha256:
        raise PortionNotOffered(transfer=str(transfer.pk))


def _has_delivered(transfer: Transfer, sha256: str) -> bool:
    return transfer.delivered_at is not None and transfer.sha256 == sha256


def _ended(transfer: Transfer) -> TransferEnded:
    return TransferEnded(transfer=str(transfer.pk), state=transfer.reason_sentence or transfer.state)
