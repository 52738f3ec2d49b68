"""The rounds' answers to devices."""

from collections.abc import Mapping
from datetime import datetime

from coterie.fleet.handler import Handler
from coterie.fleet.models import Device
from coterie.rounds import assigning, directives, uploads
from coterie_wire.messages import CheckIn, Directive, Done, OfferUpdate, ReleaseAssignment, UploadState


def check_in(device: Device, message: CheckIn, now: datetime) -> Directive:
    """Tell a device what to do."""
    return directives.check_in(device=device, message=message, now=now)


def offer_update(device: Device, message: OfferUpdate, now: datetime) -> UploadState:
    """Tell a device where its upload goes on."""
    return uploads.offer_update(device=device, offer=message, now=now)


def release_assignment(device: Device, message: ReleaseAssignment, now: datetime) -> Done:
    """Take an assignment back."""
    assigning.release_assignment(device=device, assignment_id=message.assignment, reason=message.reason, now=now)
    return Done()


HANDLERS: Mapping[str, Handler] = {
    "check-in": check_in,
    "offer-update": offer_update,
    "release-assignment": release_assignment,
}
