"""How devices find one another while the platform is away: tickets that it signs, and signed records of addresses.

A ticket says which public key is a device's, for a day. A record says where that device answers now; the device signs
it, so that whoever has both can check it, whoever brought it. What two devices say to each other is sealed with
`crypto_box` under the keys of their tickets (`coterie_wire.relaying.seal`), as in meetings.
"""

import hashlib
from collections.abc import Container
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from coterie_wire.bundle import SignedManifest, read_signed
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.exclusion import check_not_excluded
from coterie_wire.message import Count, Identifier, Message
from coterie_wire.relaying import Address, PublicKey
from coterie_wire.structs import from_json

RECORDS_PATH = "/records"
"""Where a device answers who asks for records, at each of its doors."""
LIFE_S = 24 * 3600.0
"""Of a ticket, and of a record at most."""
NEAR = 8
"""Records of an answer at most: the k of Kademlia."""
ID_BYTES = 20
Place: TypeAlias = Annotated[bytes, Meta(min_length=ID_BYTES, max_length=ID_BYTES)]
"""Of a device in the table, see `place_of`."""


class AskPeerTicket(Message, frozen=True):
    """Its owner lets the device look for others without the platform."""


class PeerTicket(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The platform knows the device by this key."""

    protocol: Count
    device: Identifier
    key: PublicKey
    expires_at: float
    """Seconds since 1970."""


class PeerTicketGiven(Message, frozen=True):
    """What the device shows others, and whom it is not to answer."""

    ticket: SignedManifest
    """A signed `PeerTicket`."""
    excluded: SignedManifest
    """A signed `coterie_wire.exclusion.Excluded`."""


class AddressRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a device answers."""

    device: Identifier
    written_at: float
    """Seconds since 1970; of two records the newer one holds."""
    expires_at: float
    """At most `LIFE_S` later."""
    meetings: Address | None = None
    """Its door for peers of a round."""
    updates: Address | None = None
    """Its door as a supernode."""


class SignedRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record's exact bytes with the device's Ed25519 signature over them, and the ticket that names its key."""

    ticket: SignedManifest
    record: Annotated[bytes, Meta(max_length=2048)]
    signature: Annotated[bytes, Meta(min_length=64, max_length=64)]


class Enquiry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From one device to another, sealed: who is near this place?"""

    to: PublicKey
    number: Annotated[bytes, Meta(min_length=16, max_length=16)]
    """Random; the answer repeats it."""
    target: Place
    excluded_at: float = 0.0
    """When the list of excluded devices was written that the asking device has."""
    record: SignedRecord | None = None
    """The asking device's own, to be kept and passed on; None: it only looks."""


class KnownRecords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reply, sealed."""

    number: Annotated[bytes, Meta(min_length=16, max_length=16)]
    own: SignedRecord | None
    """None: the device answers, and is not to be passed on."""
    near: Annotated[tuple[SignedRecord, ...], Meta(max_length=NEAR)]
    """The nearest that it knows, the nearest first; that of the place itself, where it knows that."""
    excluded: SignedManifest | None = None
    """A newer list than the asking device has."""


@dataclass(frozen=True)
class Located:
    """A record that was checked."""

    device: str
    key: bytes
    written_at: float
    expires_at: float
    """The record's or the ticket's, whichever is earlier."""
    meetings: str | None
    updates: str | None
    signed: SignedRecord

    @property
    def place(self) -> int:
        return place_of(self.device)

    @property
    def address(self) -> str:
        """A door of the device."""
        found = self.meetings or self.updates
        assert found is not None, "a record without an address is refused"
        return found


def place_of(device: str) -> int:
    """Where a device is in the table: 160 bits of the hash of the name that the platform drew for it.

    No device chooses its own, so none can settle beside another to answer in its stead.
    """
    return int.from_bytes(hashlib.sha256(device.encode()).digest()[:ID_BYTES], "big")


def write_record(record: AddressRecord, ticket: SignedManifest, secret: bytes) -> SignedRecord:
    """The record's bytes with the device's signature."""
    content = msgspec.json.encode(record)
    return SignedRecord(ticket, content, SigningKey(secret).sign(content).signature)


def read_ticket(signed: SignedManifest, *keys: bytes, excluded: Container[str], now: float) -> PeerTicket:
    """The ticket that the platform signed with one of `keys`; `now` in seconds since 1970.

    Raises WireError ``bundle.*``, ``discovery.expired`` or ``discovery.excluded``.
    """
    ticket = read_signed(signed, PeerTicket, *keys)
    if ticket.expires_at < now:
        raise WireError("discovery.expired", f"the ticket of device {ticket.device} has expired")
    check_not_excluded(ticket.device, excluded)
    return ticket


def read_record(signed: SignedRecord, *keys: bytes, excluded: Container[str], now: float) -> Located:
    """The record, once its signature and its ticket have been checked.

    Raises what `read_ticket` raises, and WireError ``discovery.bad_signature`` or ``discovery.malformed``.
    """
    ticket = read_ticket(signed.ticket, *keys, excluded=excluded, now=now)
    try:
        VerifyKey(ticket.key).verify(signed.record, signed.signature)
    except (BadSignatureError, ValueError) as error:
        raise WireError("discovery.bad_signature", f"device {ticket.device} did not sign the record") from error
    try:
        record = from_json(signed.record, AddressRecord)
    except UNREADABLE as error:
        raise WireError("discovery.malformed", f"AddressRecord: {error}") from error
    if record.device != ticket.device:
        raise WireError("discovery.bad_signature", f"the record of {record.device} comes with another one's ticket")
    if record.meetings is None and record.updates is None:
        raise WireError("discovery.malformed", f"the record of device {record.device} has no address")
    expires_at = min(ticket.expires_at, record.expires_at, record.written_at + LIFE_S)
    if expires_at < now:
        raise WireError("discovery.expired", f"the record of device {record.device} has expired")
    return Located(
        device=record.device,
        key=ticket.key,
        written_at=record.written_at,
        expires_at=expires_at,
        meetings=record.meetings,
        updates=record.updates,
        signed=signed,
    )
