"""The rounds' answers to devices."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from coterie.fleet.handler import Handler
from coterie.fleet.models import Device
from coterie.rounds import assigning, directives, uploads
from coterie_wire.messages import Directive, Done, OfferUpdate, ReleaseAssignment, UploadState


def check_in_all(calls: Sequence[directives.Call], now: datetime) -> Sequence[Directive]:
    """Answer check-ins with directives."""
    return directives.check_in_all(calls, now=now)


def offer_update(device: Device, message: OfferUpdate, now: datetime) -> UploadState:
    """Answer an offer with the offset at which the upload continues."""
    return uploads.offer_update(device=device, offer=message, now=now)


def release_assignment(device: Device, message: ReleaseAssignment, now: datetime) -> Done:
    """Take an assignment back."""
    assigning.release_assignment(device=device, assignment_id=message.assignment, reason=message.reason, now=now)
    return Done()


HANDLERS: Mapping[str, Handler] = {
    "offer-update": offer_update,
    "release-assignment": release_assignment,
}
