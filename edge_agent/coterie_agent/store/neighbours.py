"""What discovery without the platform needs: this device's ticket, and address records of other devices."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.discovery import PeerTicketGiven, SignedRecord
from coterie_wire.structs import from_json

Found = Literal["directory", "local network", "table"]
"""The source of a record: a device that the platform named, the local network, or other devices' tables."""


class Ticket(msgspec.Struct, frozen=True):
    """A ticket from the platform, by which neighbours accept this device."""

    given: PeerTicketGiven
    asked_at: float
    """Seconds since 1970."""


class Neighbour(msgspec.Struct, frozen=True):
    """Another device, as shown to the owner."""

    device: str
    found: Found
    meetings: str | None
    """Its address for peers of a round."""
    updates: str | None
    """Its address as a supernode."""
    expires_at: float
    """Seconds since 1970."""


class _Record(msgspec.Struct, frozen=True):
    signed: SignedRecord
    meetings: str | None
    updates: str | None


class NeighbourStore:
    """Every method is one transaction; damaged rows are skipped."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ticket(self) -> Ticket | None:
        """The newest ticket from the platform."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT content FROM peer_ticket WHERE seal IS seal(content)").fetchone()
        return from_json(row[0], Ticket) if row else None

    def keep_ticket(self, ticket: Ticket) -> None:
        """Store the ticket, in place of the one before."""
        with self._database.transaction() as cursor:
            content = msgspec.json.encode(ticket)
            cursor.execute("INSERT OR REPLACE INTO peer_ticket VALUES (1, ?1, seal(?1))", (content,))

    def keep(self, neighbour: Neighbour, signed: SignedRecord) -> None:
        """Store the device's record, in place of the one before."""
        content = msgspec.json.encode(_Record(signed, neighbour.meetings, neighbour.updates))
        row = (neighbour.device, content, neighbour.found, neighbour.expires_at)
        with self._database.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO address_record VALUES (?1, ?2, ?3, ?4, seal(?1, ?2, ?3, ?4))", row)

    def drop(self, device: str) -> None:
        """Delete the device's record."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM address_record WHERE device = ?", (device,))

    def records(self) -> Iterator[tuple[str, SignedRecord]]:
        """All records, by device, to be verified before they are used."""
        for neighbour, record in self._rows():
            yield neighbour.device, record.signed

    def neighbours(self, *, now: float) -> tuple[Neighbour, ...]:
        """Devices whose records are valid at `now`, by name."""
        return tuple(neighbour for neighbour, _ in self._rows() if neighbour.expires_at >= now)

    def _rows(self) -> list[tuple[Neighbour, _Record]]:
        query = """SELECT device, record, found, expires_at FROM address_record
            WHERE seal IS seal(device, record, found, expires_at) ORDER BY device"""
        with self._database.reading() as cursor:
            rows = cursor.execute(query).fetchall()
        found = []
        for device, content, how, expires_at in rows:
            record = from_json(content, _Record)
            found.append((Neighbour(device, how, record.meetings, record.updates, expires_at), record))
        return found
