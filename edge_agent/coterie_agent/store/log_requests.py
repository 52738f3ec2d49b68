"""Requests for the device's log: the owner's decision on each, and what was sent."""

from typing import Literal

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.device_log import LogAsked

LogWord = Literal["none", "allowed", "refused"]
LogOutcome = Literal["open", "delivered", "refused", "withdrawn"]
_KEPT = 100


class LogRequest(msgspec.Struct, frozen=True):
    """One request and what became of it."""

    request: str
    hours: int
    why: str
    """The operator's reason for the request; may be blank."""
    keep_days: int
    """Days for which the platform keeps what is sent."""
    asked_at: float
    """Unix time at which the device received it."""
    word: LogWord
    """The owner's decision on this request."""
    outcome: LogOutcome
    """``withdrawn``: the platform does not request it any more."""
    ended_at: float | None
    lines: int
    bytes: int
    """Size of what was sent."""


_COLUMNS = ", ".join(LogRequest.__struct_fields__)


class LogRequestStore:
    """Every method is one transaction; times are Unix times. A damaged row allows nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def receive(self, asked: LogAsked, *, now: float) -> LogRequest:
        """Store the platform's request, if it is new, and return it; any other open request is withdrawn."""
        with self._database.transaction() as cursor:
            cursor.execute(
                "UPDATE log_request SET outcome = 'withdrawn', ended_at = ? WHERE outcome = 'open' AND request <> ?",
                (now, asked.request),
            )
            cursor.execute(
                f"INSERT OR IGNORE INTO log_request ({_COLUMNS}, seal)"  # noqa: S608  # names of a struct's fields
                " VALUES (?1, ?2, ?3, ?4, ?5, 'none', 'open', NULL, 0, 0, seal(?1, 'none'))",
                (asked.request, asked.hours, asked.why, asked.keep_days, now),
            )
            cursor.execute(
                "DELETE FROM log_request WHERE request NOT IN"
                " (SELECT request FROM log_request ORDER BY rowid DESC LIMIT ?)",
                (_KEPT,),
            )
        return next(one for one in self.requests() if one.request == asked.request)

    def withdraw(self, *, now: float) -> None:
        """End the open request: the platform requests nothing."""
        with self._database.transaction() as cursor:
            query = "UPDATE log_request SET outcome = 'withdrawn', ended_at = ? WHERE outcome = 'open'"
            cursor.execute(query, (now,))

    def decide(self, request: str, word: LogWord) -> bool:
        """Record the owner's decision on an open request; False: no such request is open."""
        with self._database.transaction() as cursor:
            updated = cursor.execute(
                "UPDATE log_request SET word = ?2, seal = seal(request, ?2) WHERE request = ?1 AND outcome = 'open'",
                (request, word),
            )
        return updated.rowcount > 0

    def end(self, request: str, outcome: LogOutcome, *, now: float, lines: int = 0, size_bytes: int = 0) -> None:
        """Record how a request ended."""
        with self._database.transaction() as cursor:
            cursor.execute(
                "UPDATE log_request SET outcome = ?, ended_at = ?, lines = ?, bytes = ? WHERE request = ?",
                (outcome, now, lines, size_bytes, request),
            )

    def requests(self) -> tuple[LogRequest, ...]:
        """The latest requests, newest first."""
        with self._database.reading() as cursor:
            query = f"SELECT {_COLUMNS}, seal IS seal(request, word) FROM log_request ORDER BY rowid DESC"  # noqa: S608
            rows = cursor.execute(query).fetchall()
        found = [(LogRequest(*row), bool(is_sound)) for *row, is_sound in rows]
        return tuple(one if is_sound else msgspec.structs.replace(one, word="none") for one, is_sound in found)

    def open_request(self) -> LogRequest | None:
        """The open request, which the owner can decide on; None: there is none."""
        return next((one for one in self.requests() if one.outcome == "open"), None)
