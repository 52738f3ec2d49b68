"""What the owner lets plans send from the device, edition by edition, and the requests that are pending."""

import logging
import sqlite3
import time
from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from coterie_agent.store.database import Database
from coterie_learning.consent import SCOPES, Scope, not_covered, withdrawn_parts
from coterie_wire.structs import from_json

log = logging.getLogger(__name__)
How = Literal["terminal", "unattended", "page", "settings", "before"]
"""At the terminal, by ``--yes``, on the owner's page, by ``agent.toml``, or by joining before this was stored."""


class Agreement(msgspec.Struct, frozen=True):
    """One edition."""

    at: float
    """Unix time."""
    how: How
    scopes: tuple[Scope, ...]
    """All scopes agreed to from then on."""
    read: str
    """The exact text that the owner was shown."""
    withdrawn: tuple[str, ...] = ()
    """Parts that the owner has withdrawn, although in `scopes`; see `coterie_learning.consent.description_of`."""


class AskedOfOwner(msgspec.Struct, frozen=True):
    """A pending request: what a federation's plan asks beyond what the owner has agreed to."""

    federation: str
    scopes: tuple[Scope, ...]


class AgreementStore:
    """Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def editions(self) -> tuple[Agreement, ...]:
        """All editions, oldest first, without damaged ones; if the newest is damaged, nothing is agreed to."""
        with self._database.reading() as cursor:
            return _editions(cursor)

    def scopes(self) -> tuple[Scope, ...]:
        """The scopes agreed to now."""
        with self._database.reading() as cursor:
            return _scopes(cursor)

    def withdrawn(self) -> tuple[str, ...]:
        """What the owner has withdrawn and not given again."""
        with self._database.reading() as cursor:
            return _withdrawn(cursor)

    def withdraw(self, part: str, *, how: How, read: str) -> Agreement:
        """Record that the owner withdraws `part`; pending requests for it are deleted."""
        with self._database.transaction() as cursor:
            withdrawn = tuple(sorted({*_withdrawn(cursor), part}))
            agreement = _write(cursor, Agreement(time.time(), how, _scopes(cursor), read, withdrawn))
            for asked in _pending(cursor):
                if withdrawn_parts(withdrawn, asked.federation, asked.scopes):
                    _write_pending(cursor, asked.federation, ())
        return agreement

    def give_again(self, part: str, *, how: How, read: str) -> Agreement:
        """Record that the owner gives `part` again."""
        with self._database.transaction() as cursor:
            withdrawn = tuple(one for one in _withdrawn(cursor) if one != part)
            return _write(cursor, Agreement(time.time(), how, _scopes(cursor), read, withdrawn))

    def agree(self, scopes: Collection[Scope], *, how: How, read: str) -> Agreement:
        """Add `scopes` to those agreed to; pending requests that they cover are deleted."""
        with self._database.transaction() as cursor:
            before = _scopes(cursor)
            both = tuple(scope for scope in SCOPES if scope in before or scope in scopes)
            withdrawn = tuple(part for part in _withdrawn(cursor) if part not in scopes)
            agreement = _write(cursor, Agreement(time.time(), how, both, read, withdrawn))
            for asked in _pending(cursor):
                _write_pending(cursor, asked.federation, not_covered(both, asked.scopes))
        return agreement

    def ask(self, federation: str, scopes: Sequence[Scope]) -> None:
        """Store the federation's pending request, in place of the one before; no `scopes`: delete it."""
        before = [one.scopes for one in self.pending() if one.federation == federation]
        if before == ([tuple(scopes)] if scopes else []):
            return  # the disk is written only where something changes
        with self._database.transaction() as cursor:
            _write_pending(cursor, federation, scopes)

    def pending(self) -> tuple[AskedOfOwner, ...]:
        """The pending requests, by federation."""
        with self._database.reading() as cursor:
            return _pending(cursor)

    def keep_only(self, federations: Collection[str]) -> None:
        """Delete the pending requests of all other federations."""
        for asked in self.pending():
            if asked.federation not in federations:
                self.ask(asked.federation, ())


_ROWS = "SELECT content, seal IS seal(content) FROM agreement ORDER BY edition"


def _editions(cursor: sqlite3.Cursor) -> tuple[Agreement, ...]:
    rows = cursor.execute(_ROWS).fetchall()
    if not all(is_sound for _, is_sound in rows):
        log.warning("what the owner has agreed to was damaged on the disk, and does not count")
    return tuple(from_json(content, Agreement) for content, is_sound in rows if is_sound)


def _scopes(cursor: sqlite3.Cursor) -> tuple[Scope, ...]:
    """Empty where the newest edition is damaged: it may have withdrawn a part, so the owner is asked again."""
    newest = cursor.execute(f"{_ROWS} DESC LIMIT 1").fetchone()
    return from_json(newest[0], Agreement).scopes if newest is not None and newest[1] else ()


def _withdrawn(cursor: sqlite3.Cursor) -> tuple[str, ...]:
    editions = _editions(cursor)
    return editions[-1].withdrawn if editions else ()


def _write(cursor: sqlite3.Cursor, agreement: Agreement) -> Agreement:
    content = msgspec.json.encode(agreement)
    cursor.execute("INSERT INTO agreement (content, seal) VALUES (?1, seal(?1))", (content,))
    return agreement


def _pending(cursor: sqlite3.Cursor) -> tuple[AskedOfOwner, ...]:
    """The pending requests; a damaged row is skipped, as the next round asks again."""
    query = "SELECT federation, scopes FROM agreement_asked WHERE seal IS seal(federation, scopes) ORDER BY federation"
    rows = cursor.execute(query).fetchall()
    return tuple(AskedOfOwner(name, from_json(content, tuple[Scope, ...])) for name, content in rows)


def _write_pending(cursor: sqlite3.Cursor, federation: str, scopes: Sequence[Scope]) -> None:
    if scopes:
        row = (federation, msgspec.json.encode(scopes))
        cursor.execute("INSERT OR REPLACE INTO agreement_asked VALUES (?1, ?2, seal(?1, ?2))", row)
    else:
        cursor.execute("DELETE FROM agreement_asked WHERE federation = ?", (federation,))
