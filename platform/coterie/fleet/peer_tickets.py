"""Tickets by which devices recognise one another while the platform is unreachable, and who is excluded (ADR 83)."""

from datetime import datetime

import msgspec

from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.identity import signing_key
from coterie.fleet.exclusions import LIFE, Exclusions
from coterie.fleet.models import Device
from coterie_wire.bundle import sign_content
from coterie_wire.discovery import PeerTicket, PeerTicketGiven
from coterie_wire.messages import Capabilities
from coterie_wire.structs import from_values
from coterie_wire.version import PROTOCOL


class NoPeerKey(CoterieError):
    """A device asks for a ticket before it has reported its key."""

    code = "fleet.no_peer_key"
    kind = ErrorKind.CONFLICT
    sentence = "The platform does not know this device's key for other devices yet; ask again after the next check-in."


class TicketWithheld(CoterieError):
    """A device in quarantine asks for a ticket."""

    code = "fleet.ticket_withheld"
    kind = ErrorKind.CONFLICT
    sentence = "This device is in quarantine; it gets a ticket once an operator has released it."


def ticket_for(*, device: Device, now: datetime) -> PeerTicketGiven:
    """A ticket that names the device's key, with the list of excluded devices. Raises NoPeerKey, TicketWithheld."""
    if device.quarantine:
        raise TicketWithheld
    key = from_values(device.capabilities, Capabilities).peer_key if device.capabilities else None
    if key is None:
        raise NoPeerKey
    ticket = PeerTicket(protocol=PROTOCOL, device=str(device.pk), key=key, expires_at=(now + LIFE).timestamp())
    signed = sign_content(msgspec.json.encode(ticket), signing_key())
    return PeerTicketGiven(ticket=signed, excluded=Exclusions(now).signed)
