"""What devices report of a transfer: that they cannot continue it, that it is merged, and whether it helped."""

from datetime import datetime

from django.db import transaction

from coterie.fleet.models import Device
from coterie.transfer import reasons
from coterie.transfer.advancing import give_up, locked_request
from coterie.transfer.errors import NotDelivered, TransferEnded, UnknownTransfer
from coterie.transfer.models import HelpRequest, Transfer
from coterie.transfer.selectors import transfer_from, transfer_to
from coterie.transfer.transitions import State, end_transfer, step, step_transfer
from coterie.webhooks.models import Event
from coterie.webhooks.services import announce
from coterie_wire.conditions import Reason
from coterie_wire.helping import GiveVerdict

JUDGED = (Transfer.State.KEPT, Transfer.State.UNDONE)


@transaction.atomic
def decline_transfer(*, device: Device, transfer_id: str, reason: Reason, now: datetime) -> None:
    """End a transfer and ask another helper; nothing happens if it has ended already. Raises UnknownTransfer."""
    try:
        transfer = transfer_from(device, transfer_id)
        mine: tuple[str, ...] = Transfer.WITH_HELPER
    except UnknownTransfer:
        transfer = transfer_to(device, transfer_id)
        mine = Transfer.WITH_TARGET
    request = _locked(transfer)
    if transfer.state in mine:
        give_up(request, transfer, Transfer.State.DECLINED, reason, now=now)


@transaction.atomic
def record_merged(*, device: Device, transfer_id: str, now: datetime) -> None:
    """Record that the portion is merged into the personal model; reporting it twice changes nothing.

    Raises UnknownTransfer, NotDelivered or TransferEnded.
    """
    transfer = transfer_to(device, transfer_id)
    request = _locked(transfer)
    if transfer.state == Transfer.State.MERGED or transfer.state in JUDGED:
        return
    _check_delivered(transfer)
    step_transfer(transfer, Transfer.State.MERGED, merged_at=now)
    step(request, State.MERGED, reason=reasons.JUDGING, now=now)


@transaction.atomic
def record_verdict(*, device: Device, verdict: GiveVerdict, now: datetime) -> None:
    """End a transfer and its request; a verdict that has been given is not changed.

    Raises UnknownTransfer, NotDelivered or TransferEnded.
    """
    transfer = transfer_to(device, verdict.transfer)
    request = _locked(transfer)
    if transfer.state in JUDGED:
        return
    _check_delivered(transfer)
    end_transfer(
        transfer,
        Transfer.State.KEPT if verdict.kept else Transfer.State.UNDONE,
        reason=None,
        now=now,
        accuracy_before=verdict.accuracy_before,
        accuracy_after=verdict.accuracy_after,
        judged_samples=verdict.samples,
    )
    found = reasons.verdict(kept=verdict.kept, before=verdict.accuracy_before, after=verdict.accuracy_after)
    step(request, State.JUDGED, reason=found, now=now)
    announce(
        Event.TRANSFER_JUDGED,
        {
            "transfer": str(transfer.pk),
            "device": str(device.pk),
            "device_name": device.name,
            "kept": verdict.kept,
            "accuracy_before": verdict.accuracy_before,
            "accuracy_after": verdict.accuracy_after,
        },
        about=request,
        now=now,
    )


def _locked(transfer: Transfer) -> HelpRequest:
    """The transfer's request, its row locked; `transfer` is refreshed under the lock."""
    request = locked_request(transfer.request_id)
    assert request is not None, "transfers go with their requests"
    transfer.refresh_from_db()
    return request


def _check_delivered(transfer: Transfer) -> None:
    if transfer.state in Transfer.WITH_HELPER:
        raise NotDelivered(transfer=str(transfer.pk))
    if transfer.state not in Transfer.WITH_TARGET:
        raise TransferEnded(transfer=str(transfer.pk), state=transfer.reason_sentence or transfer.state)
