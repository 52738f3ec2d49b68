"""What the owner can see: the agent's last status, and what was sent from the device."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from coterie_agent.store.database import Database
from coterie_agent.store.peers import PeersStatus
from coterie_agent.store.serving import Serving
from coterie_wire.conditions import Conditions, Reason
from coterie_wire.messages import Progress
from coterie_wire.structs import from_json

Link = Literal["socket", "https", "offline"]


class IslandStatus(msgspec.Struct, frozen=True):
    """What the supernodes of a neighbourhood without the platform have agreed on, as far as this one knows."""

    voters: tuple[str, ...]
    """The supernodes, by their names on the platform."""
    leader: str | None
    """The supernode that accepts waiting updates; None: none elected yet."""
    term: int
    holders: Mapping[str, str]
    """By assignment, the supernode that holds its update."""


class Status(msgspec.Struct, frozen=True):
    """The status that the running agent last wrote."""

    at: float
    """Unix time."""
    link: Link
    link_problem: Reason | None
    conditions: Conditions
    blockers: tuple[Reason, ...]
    """Why the device does not train, as determined on the device."""
    wait: Reason | None
    """Why there is no assignment, as the platform reported it."""
    progress: Progress | None
    version: str | None
    """Model version that the device holds."""
    peers: PeersStatus | None = None
    """What the device does between rounds; None: nothing."""
    sum_wait: Reason | None = None
    """What the secure sum for the device's update waits for."""
    question_wait: Reason | None = None
    """What the secure sum for the device's answer to a question waits for."""
    budget_wait: Reason | None = None
    """Why the device refused the latest round: its privacy cost exceeds what the owner allows; None: it did not."""
    update_wait: Reason | None = None
    """What the pending update of the agent waits for; None: it does not wait, or there is none."""
    island: IslandStatus | None = None
    """None: the device takes part in no island, or the platform is reachable."""
    federations: tuple[str, ...] = ()
    """Names of the device's federations that have not ended, as the platform last said."""
    ended: Reason | None = None
    """The error that ended the agent, such as a revocation; None: it runs, or was stopped."""


class SentBytes(msgspec.Struct, frozen=True):
    """What was sent from the device under one name."""

    what: str
    messages: int
    bytes: int


class SentOnDay(msgspec.Struct, frozen=True):
    """What was sent from the device under one name on one day."""

    day: str
    """ISO date by the device's clock."""
    what: str
    messages: int
    bytes: int


class Journal:
    """Status and counters, written often: open its database with durability "process", so that writes do not wait."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write_status(self, status: Status) -> None:
        with self._database.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO status VALUES (1, ?)", (msgspec.json.encode(status),))

    def status(self) -> Status | None:
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT content FROM status").fetchone()
        try:
            return from_json(row[0], Status) if row else None
        except msgspec.DecodeError:  # damaged on the disk; the agent writes another before long
            return None

    def write_serving(self, serving: Serving) -> None:
        with self._database.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO serving VALUES (1, ?)", (msgspec.json.encode(serving),))

    def serving(self) -> Serving | None:
        """The figures that the prediction service last wrote; None: it has never run."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT content FROM serving").fetchone()
        try:
            return from_json(row[0], Serving) if row else None
        except msgspec.DecodeError:  # damaged on the disk; the service writes others before long
            return None

    def record_sent(self, what: str, size_bytes: int, *, day: str) -> None:
        """Count a message on `day` (ISO date); call it before sending, so that no failure hides it."""
        with self._database.transaction() as cursor:
            cursor.execute(
                "INSERT INTO sent VALUES (?, ?, 1, ?) ON CONFLICT (day, what)"
                " DO UPDATE SET messages = messages + 1, bytes = bytes + excluded.bytes",
                (day, what, size_bytes),
            )

    def sent_totals(self) -> tuple[SentBytes, ...]:
        with self._database.reading() as cursor:
            rows = cursor.execute(
                "SELECT what, sum(messages), sum(bytes) FROM sent GROUP BY what ORDER BY what"
            ).fetchall()
        return tuple(SentBytes(*row) for row in rows)

    def sent_by_day(self) -> tuple[SentOnDay, ...]:
        with self._database.reading() as cursor:
            rows = cursor.execute("SELECT day, what, messages, bytes FROM sent ORDER BY day, what").fetchall()
        return tuple(SentOnDay(*row) for row in rows)

    def measure(self, name: str, value: float) -> None:
        """Store a measurement of this device."""
        with self._database.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO measured VALUES (?1, ?2, seal(?1, ?2))", (name, float(value)))

    def measurement(self, name: str) -> float | None:
        with self._database.reading() as cursor:
            row = cursor.execute(
                "SELECT value FROM measured WHERE name = ? AND seal IS seal(name, value)", (name,)
            ).fetchone()
        return row[0] if row else None
