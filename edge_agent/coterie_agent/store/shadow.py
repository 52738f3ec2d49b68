"""The candidate that answers beside the held version without being shown, and how its answers compare."""

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.bundle import SignedManifest
from coterie_wire.latency import Histogram
from coterie_wire.structs import from_json


class Shadow(msgspec.Struct, frozen=True):
    """A roll-out's candidate, every part of which is on the device."""

    rollout: str
    candidate: SignedManifest


class ShadowFigures(msgspec.Struct, frozen=True):
    """What the prediction service has compared."""

    answers: int = 0
    agreed: int = 0
    champion: Histogram = Histogram()
    """Durations of runs of what was shown, on the same samples."""
    candidate: Histogram = Histogram()

    def __add__(self, other: "ShadowFigures") -> "ShadowFigures":
        """Both together."""
        return ShadowFigures(
            self.answers + other.answers,
            self.agreed + other.agreed,
            self.champion + other.champion,
            self.candidate + other.candidate,
        )


class ShadowStore:
    """One row; the agent holds the candidate, the service's process adds what it compares."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self) -> Shadow | None:
        """None: no candidate answers, or the disk has damaged which."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT shadow FROM shadow WHERE seal IS seal(shadow, beside)").fetchone()
        return from_json(row[0], Shadow) if row else None

    def hold(self, shadow: Shadow) -> None:
        """Let this candidate answer, in place of any other, whose figures are forgotten."""
        with self._database.transaction() as cursor:
            row = (msgspec.json.encode(shadow), msgspec.json.encode(ShadowFigures()))
            cursor.execute("INSERT OR REPLACE INTO shadow VALUES (1, ?1, ?2, seal(?1, ?2))", row)

    def drop(self) -> None:
        """Let none answer."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM shadow")

    def beside(self, rollout: str) -> ShadowFigures:
        """What was compared for it until now."""
        shadow = self.load()
        if shadow is None or shadow.rollout != rollout:
            return ShadowFigures()
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT beside FROM shadow").fetchone()
        return from_json(row[0], ShadowFigures) if row else ShadowFigures()

    def add(self, rollout: str, more: ShadowFigures) -> None:
        """Count in what was compared, unless another candidate, or none, answers by now."""
        shadow = self.load()
        if shadow is None or shadow.rollout != rollout or not more.answers:
            return
        with self._database.transaction() as cursor:
            (before,) = cursor.execute("SELECT beside FROM shadow").fetchone() or (None,)
            if before is not None:
                after = msgspec.json.encode(from_json(before, ShadowFigures) + more)
                cursor.execute("UPDATE shadow SET beside = ?1, seal = seal(shadow, ?1)", (after,))
