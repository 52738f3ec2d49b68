"""The rounds' answers to devices."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from coterie.analytics import answering
from coterie.analytics.models import Part
from coterie.analytics.selectors import part_of
from coterie.fleet.handler import Handler
from coterie.fleet.models import Device
from coterie.rounds import assigning, directives, partials, signalling, summing, supernode_receipts, uploads
from coterie.secure_sums import identity_log
from coterie_wire.messages import Directive, Done, OfferUpdate, ReleaseAssignment, UploadState
from coterie_wire.paths import SendSignal
from coterie_wire.relaying import HandIn, HandInSum, OfferPartial
from coterie_wire.secure_sum import (
    AskSum,
    JoinSum,
    LogEntries,
    OfferMasked,
    ReadLog,
    RevealShares,
    ShareSecrets,
    SumNews,
)


def check_in_all(calls: Sequence[directives.Call], now: datetime) -> Sequence[Directive]:
    """Answer check-ins with directives."""
    return directives.check_in_all(calls, now=now)


def offer_update(device: Device, message: OfferUpdate, now: datetime) -> UploadState:
    """Answer an offer with the offset at which the upload continues."""
    return uploads.offer_update(device=device, offer=message, now=now)


def hand_in(device: Device, message: HandIn, now: datetime) -> UploadState:
    """Record that a supernode holds an update."""
    return supernode_receipts.record_receipt(device=device, message=message, now=now)


def hand_in_sum(device: Device, message: HandInSum, now: datetime) -> UploadState:
    """Record that a supernode holds the sum of another."""
    return supernode_receipts.record_sum_receipt(device=device, message=message, now=now)


def offer_partial(device: Device, message: OfferPartial, now: datetime) -> UploadState:
    """Answer a supernode's offer with the offset at which the upload continues."""
    return partials.offer_partial(device=device, offer=message, now=now)


def send_signal(device: Device, message: SendSignal, now: datetime) -> Done:
    """Forward a signal from one device to another."""
    signalling.send_signal(device=device, message=message, now=now)
    return Done()


def release_assignment(device: Device, message: ReleaseAssignment, now: datetime) -> Done:
    """Release an assignment, or record that a question is declined."""
    part = _own_part(device, message.assignment)
    if part is not None:
        answering.decline(part=part, reason=message.reason)
        return Done()
    assigning.release_assignment(device=device, assignment_id=message.assignment, reason=message.reason, now=now)
    return Done()


def read_log(device: Device, message: ReadLog, now: datetime) -> LogEntries:
    """Answer with the entries of the log of identities that a device lacks, its own among them."""
    return identity_log.read_log(device=device, message=message, now=now)


def ask_sum(device: Device, message: AskSum, now: datetime) -> SumNews:
    """Answer with what a device is to do in the secure sum of its round, or of a question."""
    part = _own_part(device, message.assignment)
    if part is not None:
        return answering.ask_sum(part=part)
    return summing.ask_sum(device=device, message=message, now=now)


def join_sum(device: Device, message: JoinSum, now: datetime) -> SumNews:
    """Add a device to the secure sum of its round, or of a question."""
    part = _own_part(device, message.assignment)
    if part is not None:
        return answering.join_sum(part=part, message=message)
    return summing.join_sum(device=device, message=message, now=now)


def share_secrets(device: Device, message: ShareSecrets, now: datetime) -> SumNews:
    """Store a device's sealed shares."""
    part = _own_part(device, message.assignment)
    if part is not None:
        return answering.share_secrets(part=part, message=message, now=now)
    return summing.share_secrets(device=device, message=message, now=now)


def offer_masked(device: Device, message: OfferMasked, now: datetime) -> UploadState:  # noqa: ARG001 - a seam
    """Answer with the offset at which the upload of a masked vector continues."""
    part = _own_part(device, message.assignment)
    if part is not None:
        return answering.offer_masked(part=part, message=message)
    return summing.offer_masked(device=device, message=message)


def reveal_shares(device: Device, message: RevealShares, now: datetime) -> SumNews:
    """Store the shares of others that a device reveals."""
    part = _own_part(device, message.assignment)
    if part is not None:
        return answering.reveal_shares(part=part, message=message, now=now)
    return summing.reveal_shares(device=device, message=message, now=now)


def _own_part(device: Device, name: str) -> Part | None:
    """The device's part in a question with this identifier; None: the identifier can only be an assignment's."""
    part = part_of(name)
    return part if part is not None and part.device_id == device.pk else None


HANDLERS: Mapping[str, Handler] = {
    "offer-update": offer_update,
    "hand-in": hand_in,
    "hand-in-sum": hand_in_sum,
    "offer-partial": offer_partial,
    "send-signal": send_signal,
    "release-assignment": release_assignment,
    "read-log": read_log,
    "ask-sum": ask_sum,
    "join-sum": join_sum,
    "share-secrets": share_secrets,
    "offer-masked": offer_masked,
    "reveal-shares": reveal_shares,
}
