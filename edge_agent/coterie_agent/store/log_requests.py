"""Requests for the device's log: what the owner has said to each, and what was sent."""

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
    """What the operator wants the log for, in his words; blank: he has not said."""
    keep_days: int
    """For how long the platform keeps what is sent."""
    asked_at: float
    """Unix time at which the device heard of it."""
    word: LogWord
    """The owner's, about this one."""
    outcome: LogOutcome
    """``withdrawn``: the platform asks for it no longer."""
    ended_at: float | None
    lines: int
    bytes: int
    """Of what was sent."""


_COLUMNS = ", ".join(LogRequest.__struct_fields__)


class LogRequestStore:
    """Every method is one transaction; times are Unix times. A damaged row allows nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def hear(self, asked: LogAsked, *, now: float) -> LogRequest:
        """The request that the platform asks now; any other that is open is withdrawn."""
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
        """The platform asks for nothing."""
        with self._database.transaction() as cursor:
            query = "UPDATE log_request SET outcome = 'withdrawn', ended_at = ? WHERE outcome = 'open'"
            cursor.execute(query, (now,))

    def say(self, request: str, word: LogWord) -> bool:
        """Take the owner's word on one that is open; False: there is no such one."""
        with self._database.transaction() as cursor:
            said = cursor.execute(
                "UPDATE log_request SET word = ?2, seal = seal(request, ?2) WHERE request = ?1 AND outcome = 'open'",
                (request, word),
            )
        return said.rowcount > 0

    def end(self, request: str, outcome: LogOutcome, *, now: float, lines: int = 0, size_bytes: int = 0) -> None:
        """Record what became of one."""
        with self._database.transaction() as cursor:
            cursor.execute(
                "UPDATE log_request SET outcome = ?, ended_at = ?, lines = ?, bytes = ? WHERE request = ?",
                (outcome, now, lines, size_bytes, request),
            )

    def requests(self) -> tuple[LogRequest, ...]:
        """The latest, newest first."""
        with self._database.reading() as cursor:
            query = f"SELECT {_COLUMNS}, seal IS seal(request, word) FROM log_request ORDER BY rowid DESC"  # noqa: S608
            rows = cursor.execute(query).fetchall()
        found = [(LogRequest(*row), bool(is_sound)) for *row, is_sound in rows]
        return tuple(one if is_sound else msgspec.structs.replace(one, word="none") for one, is_sound in found)

    def open_one(self) -> LogRequest | None:
        """The one that the owner can decide about; None: nobody asks."""
        return next((one for one in self.requests() if one.outcome == "open"), None)
