"""What the owner has chosen on the page: a pause, and limits beside those of agent.toml."""

import logging

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.conditions import Requirements
from coterie_wire.structs import from_json

log = logging.getLogger(__name__)


class Choices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The choices, which stay over restarts and after the device has left the platform."""

    paused_until: float = 0.0
    """Unix time until which the device does not train; `FOR_GOOD`: until the owner ends the pause."""
    limits: Requirements | None = None
    """Limits for training in addition to agent.toml; None: none."""


FOR_GOOD = 1e12
"""A Unix time later than any clock."""


class ChoicesStore:
    """Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self) -> Choices:
        """The choices; a damaged row pauses the device, as it may have held a pause or a limit."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT content, seal IS seal(content) FROM choices").fetchone()
        if row is None:
            return Choices()
        if not row[1]:
            log.warning("the owner's choices were damaged on the disk; the device rests until they are made again")
            return Choices(paused_until=FOR_GOOD)
        return from_json(row[0], Choices)

    def save(self, choices: Choices) -> None:
        content = msgspec.json.encode(choices)
        with self._database.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO choices VALUES (1, ?1, seal(?1))", (content,))
