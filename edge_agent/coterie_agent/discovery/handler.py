"""Answers queries of other devices with the records nearest to a place."""

from collections.abc import Callable
from dataclasses import dataclass

from coterie_agent.discovery.book import AddressBook
from coterie_wire.bundle import SignedManifest
from coterie_wire.discovery import NEAR, Enquiry, KnownRecords, PeerTicket, SignedRecord
from coterie_wire.errors import WireError
from coterie_wire.relaying import public_key, read_with_body, seal, unseal, with_body

MAX_ENQUIRY_BYTES = 8 << 10


@dataclass(frozen=True)
class DiscoveryHandler:
    """Answers callers that have a ticket; safe to use from several threads."""

    book: AddressBook
    record_sent: Callable[[str, int], None]

    def admit(self, line: bytes) -> PeerTicket:
        """The caller's ticket. Raises WireError ``relay.malformed``, ``bundle.*`` or ``discovery.*``."""
        signed, _ = read_with_body(line, SignedManifest)
        return self.book.admit(signed)

    def receive(self, caller: PeerTicket, sealed: bytes) -> bytes:
        """The sealed answer. Who replays a recorded call receives nothing that it can decrypt.

        Raises WireError ``relay.*``, or ``discovery.not_own`` where the record is not the caller's.
        """
        if len(sealed) > MAX_ENQUIRY_BYTES:
            raise WireError("relay.malformed", f"an enquiry of more than {MAX_ENQUIRY_BYTES} bytes")
        secret = self.book.secret
        enquiry, _ = read_with_body(unseal(sealed, secret=secret, by=caller.key), Enquiry)
        if enquiry.to != public_key(secret):
            raise WireError("relay.not_sealed", "the enquiry is for another device")
        is_outdated = enquiry.record is not None and not self._keep(caller, enquiry.record)
        target = int.from_bytes(enquiry.target, "big")
        near = [one for one in self.book.nearest(target) if is_outdated or one.device != caller.device][:NEAR]
        exclusions = self.book.exclusions
        answer = KnownRecords(
            number=enquiry.number,
            own=self.book.record,
            near=tuple(one.signed for one in near),
            excluded=exclusions.signed if exclusions.written_at > enquiry.excluded_at else None,
        )
        sealed = seal(with_body(answer), secret=secret, to=caller.key)
        self.record_sent("address record", len(sealed))
        return sealed

    def _keep(self, caller: PeerTicket, record: SignedRecord) -> bool:
        """Store the caller's record, and no other's, so that no caller fills the store; False: a later one is known."""
        located = self.book.check(record)
        if located.device != caller.device:
            raise WireError("discovery.not_own", f"device {caller.device} brings the record of {located.device}")
        known = next((one for one in self.book.records() if one.device == located.device), None)
        if known is None or known.written_at < located.written_at:
            self.book.take(record, "table")
        self.book.mark_alive(located)
        return known is None or known.written_at <= located.written_at
