"""The secure sum that the device takes part in: its secrets, and its masked vector.

`WorkStore` deletes both with the assignment, or `QuestionStore` with the question. Damaged rows stay until then, so
that a sum is never joined twice.
"""

import hashlib
from typing import Literal, NamedTuple

import msgspec

from coterie_agent.errors import AgentError
from coterie_agent.store.database import Database
from coterie_wire.secure_sum import OfferMasked
from coterie_wire.structs import from_json

_HASHED_BYTES = 1 << 18
_TABLES = {"update": ("secure_sum", "masked_vector"), "answer": ("question_sum", "question_vector")}


class Remembered(NamedTuple):
    """The device's progress in a secure sum."""

    state: bytes
    """A `coterie_learning.secure_sum.party.PartyState`, which needs NumPy, as JSON."""
    offer: OfferMasked | None
    """The offer of its masked vector, once computed; there is never another."""


class SecureSumStore:
    """At most one sum at a time; every method is one transaction."""

    def __init__(self, database: Database, *, of: Literal["update", "answer"] = "update") -> None:
        self._database = database
        self._sum, self._vector = _TABLES[of]

    def find(self, assignment: str) -> Remembered | None:
        """The stored state of the sum of `assignment`; None: none. Raises AgentError ``agent.sum_damaged``."""
        with self._database.reading() as cursor:
            row = cursor.execute(
                f"SELECT assignment, state, offer, seal IS seal(assignment, state, offer) FROM {self._sum}"  # noqa: S608
            ).fetchone()
        if row is None:
            return None
        of, state, offer, is_sound = row
        if not is_sound:
            raise _damaged("what the device remembers of the secure sum")
        return Remembered(state, offer and from_json(offer, OfferMasked)) if of == assignment else None

    def keep(self, assignment: str, state: bytes) -> None:
        """Store this state of the sum of `assignment`; a stored vector stays."""
        with self._database.transaction() as cursor:
            cursor.execute(
                f"INSERT INTO {self._sum} VALUES (1, ?1, ?2, NULL, seal(?1, ?2, NULL)) ON CONFLICT (one)"  # noqa: S608
                " DO UPDATE SET state = excluded.state, seal = seal(assignment, excluded.state, offer)",
                (assignment, state),
            )

    def keep_vector(self, assignment: str, state: bytes, vector: bytes) -> OfferMasked:
        """Store the masked `vector` with the state after it; returns the message that offers it."""
        offer = OfferMasked(assignment, hashlib.sha256(vector).hexdigest(), len(vector))
        with self._database.transaction() as cursor:
            row = (assignment, state, msgspec.json.encode(offer))
            values = "VALUES (1, ?1, ?2, ?3, seal(?1, ?2, ?3))"
            cursor.execute(f"INSERT OR REPLACE INTO {self._sum} {values}", row)
            cursor.execute(f"INSERT OR REPLACE INTO {self._vector} VALUES (1, ?)", (vector,))  # noqa: S608
        return offer

    def read_vector(self, offset: int, size_bytes: int) -> bytes:
        """Up to `size_bytes` of the masked vector from `offset` on, without reading the rest."""
        with (
            self._database.reading() as cursor,
            cursor.connection.blobopen(self._vector, "content", 1, readonly=True) as blob,
        ):
            blob.seek(offset)
            return blob.read(size_bytes)

    def check_vector(self, offer: OfferMasked) -> None:
        """Raises AgentError ``agent.sum_damaged`` unless the masked vector matches `offer`."""
        digest = hashlib.sha256()
        for offset in range(0, offer.size_bytes, _HASHED_BYTES):
            digest.update(self.read_vector(offset, _HASHED_BYTES))
        if digest.hexdigest() != offer.sha256:
            raise _damaged("the masked vector")


def _damaged(what: str) -> AgentError:
    return AgentError("agent.sum_damaged", f"{what} was damaged on the disk, and is made only once")
