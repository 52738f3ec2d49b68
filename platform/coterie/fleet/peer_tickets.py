"""The tickets by which devices know one another while the platform is away, and who holds none any more (ADR 83)."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.db.models import Q

from coterie.core.errors import CoterieError, ErrorKind
from coterie.core.identity import signing_key
from coterie.fleet.models import Device
from coterie_wire.bundle import SignedManifest, sign_content
from coterie_wire.discovery import LIFE_S, MAX_EXCLUDED, Excluded, PeerTicket, PeerTicketGiven
from coterie_wire.messages import Capabilities
from coterie_wire.structs import from_values
from coterie_wire.version import PROTOCOL

LIFE = timedelta(seconds=LIFE_S)
"""So long a device that is excluded may still be answered by devices that have not heard of it."""


class NoPeerKey(CoterieError):
    """A device asks for a ticket before it has told its key."""

    code = "fleet.no_peer_key"
    kind = ErrorKind.CONFLICT
    sentence = "The platform does not know this device's key for other devices yet; ask again after the next check-in."


class TicketWithheld(CoterieError):
    """A device in quarantine asks for a ticket."""

    code = "fleet.ticket_withheld"
    kind = ErrorKind.CONFLICT
    sentence = "This device is in quarantine; it gets a ticket once an operator has released it."


def ticket_for(*, device: Device, now: datetime) -> PeerTicketGiven:
    """A ticket that names the device's key, with the list of those who hold none. Raises NoPeerKey, TicketWithheld."""
    if device.quarantine:
        raise TicketWithheld
    key = from_values(device.capabilities, Capabilities).peer_key if device.capabilities else None
    if key is None:
        raise NoPeerKey
    ticket = PeerTicket(protocol=PROTOCOL, device=str(device.pk), key=key, expires_at=(now + LIFE).timestamp())
    excluded = Excluded(protocol=PROTOCOL, devices=_excluded(now), written_at=now.timestamp())
    return PeerTicketGiven(ticket=_signed(ticket), excluded=_signed(excluded))


def _excluded(now: datetime) -> tuple[str, ...]:
    """Whose tickets may not have expired: at most `MAX_EXCLUDED`, those first that were excluded last."""
    gone = Q(state__in=(Device.State.REVOKED, Device.State.LEFT), ended_at__gt=now - LIFE)
    held = Q(state=Device.State.ENROLLED, quarantine__gt="")
    found: dict[UUID, None] = {}
    for condition, since in ((gone, "-ended_at"), (held, "-paused_at")):
        devices = Device.objects.filter(condition).order_by(since)
        found |= dict.fromkeys(devices.values_list("pk", flat=True)[:MAX_EXCLUDED])
    return tuple(map(str, list(found)[:MAX_EXCLUDED]))


def _signed(struct: PeerTicket | Excluded) -> SignedManifest:
    return sign_content(msgspec.json.encode(struct), signing_key())
