"""Asks another device for records: one sealed question, one sealed answer."""

import logging
import secrets
import socket
from collections.abc import Callable
from typing import NamedTuple

from nacl.exceptions import CryptoError

from coterie_agent.discovery.book import AddressBook, Named
from coterie_agent.link.failure import Unreachable
from coterie_agent.link.neighbour import CONNECT_S, ask_neighbour
from coterie_agent.link.racing import connect_first, in_order
from coterie_agent.store.neighbours import Found
from coterie_wire.discovery import ID_BYTES, RECORDS_PATH, Enquiry, KnownRecords, Located, SignedRecord
from coterie_wire.errors import WireError
from coterie_wire.relaying import read_with_body, seal, unseal, with_body

log = logging.getLogger(__name__)
MAX_ANSWER_BYTES = 1 << 20
"""Room for nine records, and a list of ten thousand excluded devices."""
WITHIN_S = 10.0
RecordSent = Callable[[str, int], None]


class CheckedReply(NamedTuple):
    """A device's verified answer."""

    itself: Located | None
    near: tuple[Located, ...]


class Enquirer:
    """Queries other devices for one device; safe to use from several threads."""

    def __init__(self, book: AddressBook, record_sent: RecordSent) -> None:
        self._book, self._record_sent = book, record_sent

    def ask_first(self, named: Named, target: int) -> tuple[CheckedReply, str]:
        """As `ask`, at the first address of the device that answers; the reply, and that address.

        Where another device answers there, the other addresses are tried, as networks may reuse addresses.
        """
        left: list[str] | None = None
        while True:
            try:
                left = in_order(named.addresses) if left is None else left
                connection, address = connect_first(left, within_s=CONNECT_S)
            except OSError as error:
                places = " or ".join(left or named.addresses)
                raise Unreachable(f"the device at {places} does not answer: {error}") from error
            left.remove(address)
            try:
                return self.ask(named.key, address, target, found=named.found, connection=connection), address
            except Unreachable as error:
                if not left:
                    raise
                log.debug("%s", error.detail)

    def ask(
        self, key: bytes, address: str, target: int, *, found: Found = "table", connection: socket.socket | None = None
    ) -> CheckedReply:
        """The devices near `target`, from the device with this key; its own record is stored with source `found`.

        `connection`: an open one to `address`; None: one is opened. Raises Unreachable where no answer made by the
        device arrives, or this device has no ticket.
        """
        ticket, secret = self._book.ticket(), self._book.secret
        if ticket is None:
            raise Unreachable("this device has no ticket of the platform that holds, by which others would know it")
        number = secrets.token_bytes(16)
        enquiry = Enquiry(
            key,
            number,
            target.to_bytes(ID_BYTES, "big"),
            excluded_at=self._book.exclusions.written_at,
            record=self._book.record,
        )
        try:
            body = with_body(ticket, seal(with_body(enquiry), secret=secret, to=key))
        except CryptoError as error:  # any 32 bytes may be announced on a local network
            raise Unreachable(f"what answers at {address} is known by a key that is none") from error
        self._record_sent("address record" if enquiry.record else "question for an address", len(body))
        reply = ask_neighbour(
            address, RECORDS_PATH, body, at_most_bytes=MAX_ANSWER_BYTES, within_s=WITHIN_S, sock=connection
        )
        try:
            known, _ = read_with_body(unseal(reply, secret=secret, by=key), KnownRecords)
        except WireError as error:
            raise Unreachable(f"what answers at {address} is not the device: {error.detail}") from error
        if known.number != number:
            raise Unreachable(f"what answers at {address} repeats an older answer")
        if known.excluded is not None:
            self._receive_exclusions(known)
        itself = None if known.own is None else self._take(known.own, found)
        if itself is not None and itself.key == key:
            self._book.mark_alive(itself)
        return CheckedReply(itself, tuple(filter(None, (self._take(signed, "table") for signed in known.near))))

    def _receive_exclusions(self, known: KnownRecords) -> None:
        assert known.excluded is not None
        try:
            self._book.exclusions.receive(known.excluded)
            self._book.delete_expired()
        except WireError as error:
            log.info("a list of excluded devices is not used: %s [%s]", error.detail, error.code)

    def _take(self, signed: SignedRecord, found: Found) -> Located | None:
        try:
            return self._book.take(signed, found)
        except WireError as error:
            log.info("a record is not used: %s [%s]", error.detail, error.code)
            return None
