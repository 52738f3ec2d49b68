"""The shadow candidate, which predicts beside the held version without being shown, and how its answers compare."""

import msgspec

from coterie_agent.store.database import Database
from coterie_wire.bundle import SignedManifest
from coterie_wire.latency import Histogram
from coterie_wire.structs import from_json


class Shadow(msgspec.Struct, frozen=True):
    """A roll-out's candidate, which is completely on the device."""

    rollout: str
    candidate: SignedManifest


class ShadowFigures(msgspec.Struct, frozen=True):
    """What the prediction service has compared."""

    answers: int = 0
    agreed: int = 0
    champion: Histogram = Histogram()
    """Durations of runs of the model that was shown, on the same samples."""
    candidate: Histogram = Histogram()

    def __add__(self, other: "ShadowFigures") -> "ShadowFigures":
        """The sums of both."""
        return ShadowFigures(
            self.answers + other.answers,
            self.agreed + other.agreed,
            self.champion + other.champion,
            self.candidate + other.candidate,
        )


class ShadowStore:
    """One row; the agent sets the candidate, the service's process adds its comparisons."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self) -> Shadow | None:
        """The candidate; None: there is none, or the row was damaged on the disk."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT shadow FROM shadow WHERE seal IS seal(shadow, beside)").fetchone()
        return from_json(row[0], Shadow) if row else None

    def hold(self, shadow: Shadow) -> None:
        """Set the candidate, in place of any other, whose figures are deleted."""
        with self._database.transaction() as cursor:
            row = (msgspec.json.encode(shadow), msgspec.json.encode(ShadowFigures()))
            cursor.execute("INSERT OR REPLACE INTO shadow VALUES (1, ?1, ?2, seal(?1, ?2))", row)

    def drop(self) -> None:
        """Delete the candidate."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM shadow")

    def beside(self, rollout: str) -> ShadowFigures:
        """The comparisons for the roll-out so far."""
        shadow = self.load()
        if shadow is None or shadow.rollout != rollout:
            return ShadowFigures()
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT beside FROM shadow").fetchone()
        return from_json(row[0], ShadowFigures) if row else ShadowFigures()

    def add(self, rollout: str, more: ShadowFigures) -> None:
        """Add comparisons, unless there is another candidate, or none, by now."""
        shadow = self.load()
        if shadow is None or shadow.rollout != rollout or not more.answers:
            return
        with self._database.transaction() as cursor:
            (before,) = cursor.execute("SELECT beside FROM shadow").fetchone() or (None,)
            if before is not None:
                after = msgspec.json.encode(from_json(before, ShadowFigures) + more)
                cursor.execute("UPDATE shadow SET beside = ?1, seal = seal(shadow, ?1)", (after,))
