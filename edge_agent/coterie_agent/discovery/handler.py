"""What a device answers others that look for somebody: the records nearest to a place."""

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
    """Answers who has a ticket. Safe to use from several threads."""

    book: AddressBook
    record_sent: Callable[[str, int], None]

    def admit(self, line: bytes) -> PeerTicket:
        """Whose ticket it is. Raises WireError ``relay.malformed``, ``bundle.*`` or ``discovery.*``."""
        signed, _ = read_with_body(line, SignedManifest)
        return self.book.admit(signed)

    def receive(self, caller: PeerTicket, sealed: bytes) -> bytes:
        """The sealed answer. A call that was recorded and comes again tells its sender nothing that it can read.

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
        """Only its own, so that nobody fills others' stores with records of many; False: a later one of it is known."""
        located = self.book.check(record)
        if located.device != caller.device:
            raise WireError("discovery.not_own", f"device {caller.device} brings the record of {located.device}")
        known = next((one for one in self.book.known() if one.device == located.device), None)
        if known is None or known.written_at < located.written_at:
            self.book.take(record, "table")
        self.book.heard_from(located)
        return known is None or known.written_at <= located.written_at
