"""The current assignment, from acceptance to the platform's receipt: checkpoint, spooled update, states, outcome."""

import hashlib
import logging
from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from coterie_agent.store.database import Database
from coterie_agent.store.peers import Tuned, write_tuned
from coterie_agent.store.personal_model import PersonalTensors, write_personal
from coterie_agent.store.samples import Snapshot
from coterie_wire.bundle import SignedManifest
from coterie_wire.messages import Assignment, OfferUpdate
from coterie_wire.structs import from_json

log = logging.getLogger(__name__)
Outcome = Literal["accepted", "dropped", "released"]
_KEPT_OUTCOMES = 50
_HASHED_BYTES = 1 << 18


class TrainingProgress(msgspec.Struct, frozen=True):
    """The figures of a training so far, and the samples it trains on."""

    snapshot: Snapshot
    loss_before: float
    accuracy_before: float | None
    measure_s: float
    """Seconds that the evaluation took; it runs once more at the end."""
    train_s: float
    memory_bytes: int = 0
    """Largest resident size of the process measured after a step."""


class Checkpoint(msgspec.Struct, frozen=True):
    """The state of training; resuming from it gives the same bits as never having stopped."""

    progress: TrainingProgress
    client: bytes
    """A `coterie_learning.client.training.Progress`, which needs NumPy, as JSON."""
    tensors: bytes
    """Parameters, statistics and optimiser state, as safetensors."""
    best: bytes | None = None
    """Parameters of the best epoch, where training may stop early."""


class Spooled(NamedTuple):
    """A finished update."""

    offer: OfferUpdate
    federation: str
    payload: bytes
    states: Mapping[str, bytes]
    """By slot, the device states that apply once it is accepted: `coterie_learning.device_state.encode_state`."""


class StreamPart(NamedTuple):
    """The device's part in a sum whose noise depends on earlier sums."""

    federation: str
    apart: int
    """Least distance between two parts of the device; with the federation it identifies the stream."""
    number: int
    """Number of sums of the stream released before."""


class Finished(msgspec.Struct, frozen=True):
    """How an assignment ended."""

    assignment: str
    outcome: Outcome
    sentence: str
    at: float
    federation: str = ""
    """Blank, and no `round`, where it ended under a release that did not record them."""
    round: int = 0


class WorkStore:
    """At most one assignment at a time; every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def current(self) -> Assignment | None:
        """The current assignment. A damaged one is deleted with its work: the platform names it again."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT message, seal IS seal(assignment, message) FROM work").fetchone()
        if row is not None and not row[1]:
            log.warning("the assignment was damaged on the disk; it begins anew")
            self._remove("work", "checkpoint", "meeting", "spool", "spooled_state")
            return None
        return from_json(row[0], Assignment) if row else None

    def accept(self, assignment: Assignment, *, is_masked: bool = False) -> None:
        """Begin `assignment`; there must be no other. The secure sum of an earlier one is deleted.

        `is_masked`: its plan hides in a sum what devices measure.
        """
        row = (assignment.assignment, msgspec.json.encode(assignment))
        with self._database.transaction() as cursor:
            cursor.execute("INSERT INTO work VALUES (1, ?1, ?2, seal(?1, ?2))", row)
            cursor.execute("INSERT OR REPLACE INTO masking VALUES (1, ?1, seal(?1))", (int(is_masked),))
            cursor.execute("DELETE FROM secure_sum WHERE assignment <> ?", (assignment.assignment,))
            cursor.execute("DELETE FROM masked_vector WHERE one NOT IN (SELECT one FROM secure_sum)")

    def hide(self) -> None:
        """Record that a plan of the device's federations hides in a sum what devices measure, until `accept`."""
        if not self.is_masked():
            with self._database.transaction() as cursor:
                cursor.execute("INSERT OR REPLACE INTO masking VALUES (1, 1, seal(1))")

    def is_masked(self) -> bool:
        """Whether a plan hides in a sum what the device measures, as recorded last.

        True also where the row was damaged on the disk, so that nothing is reported by mistake.
        """
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT is_masked, seal IS seal(is_masked) FROM masking").fetchone()
        return row is not None and (bool(row[0]) or not row[1])

    def checkpoint(self) -> Checkpoint | None:
        """The saved state of training; None: there is none, or it was damaged and is removed."""
        query = "SELECT progress, client, tensors, best, seal IS seal(progress, tensors, best, client) FROM checkpoint"
        with self._database.reading() as cursor:
            row = cursor.execute(query).fetchone()
        if row is None:
            return None
        progress, client, tensors, best, is_sound = row
        if not is_sound:
            log.warning("the checkpoint was damaged on the disk; training begins anew")
            self._remove("checkpoint")
            return None
        return Checkpoint(from_json(progress, TrainingProgress), client, tensors, best)

    def drop_checkpoint(self) -> None:
        """Forget the checkpoint: training begins anew."""
        self._remove("checkpoint")

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        progress = msgspec.json.encode(checkpoint.progress)
        row = (progress, checkpoint.tensors, checkpoint.best, checkpoint.client)
        with self._database.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO checkpoint VALUES (1, ?1, ?2, ?3, ?4, seal(?1, ?2, ?3, ?4))", row)

    def spool(
        self,
        spooled: Spooled,
        *,
        own: PersonalTensors | None = None,
        tuned: Tuned | None = None,
        part: StreamPart | None = None,
    ) -> None:
        """Store the finished update for upload; its states become the device's when the platform accepts it.

        Where the plan has personal models, the device predicts with `own` from now on, and records how it was
        `tuned`. Its `part` in a stream is recorded before a byte of the update is sent.
        """
        states = [(spooled.federation, slot, content) for slot, content in spooled.states.items()]
        with self._database.transaction() as cursor:
            if own is not None:
                write_personal(cursor, own)
            if tuned is not None:
                write_tuned(cursor, tuned)
            cursor.execute("DELETE FROM checkpoint")
            row = (msgspec.json.encode(spooled.offer), spooled.federation, spooled.payload)
            cursor.execute("INSERT INTO spool VALUES (1, ?1, ?2, ?3, seal(?1, ?2))", row)
            cursor.executemany("INSERT INTO spooled_state VALUES (?, ?, ?)", states)
            if part is not None:
                cursor.execute(
                    "DELETE FROM stream_part WHERE federation = ? AND apart = ? AND number <= ?",
                    (part.federation, part.apart, part.number - part.apart),
                )
                cursor.execute(
                    "INSERT OR REPLACE INTO stream_part VALUES (?1, ?2, ?3, ?4, seal(?1, ?2, ?3, ?4))",
                    (spooled.offer.assignment, *part),
                )

    def latest_part(self, federation: str, apart: int, *, but: str) -> int | None:
        """The number of the device's newest part in a stream, except that of assignment `but`; None: there is none.

        A damaged row is skipped: the platform, too, checks the distance between parts.
        """
        query = (
            "SELECT MAX(number) FROM stream_part WHERE federation = ? AND apart = ? AND assignment != ?"
            " AND seal IS seal(assignment, federation, apart, number)"
        )
        with self._database.reading() as cursor:
            latest: int | None = cursor.execute(query, (federation, apart, but)).fetchone()[0]
        return latest

    def offer(self) -> OfferUpdate | None:
        """The offer of the spooled update, if there is one. A damaged one is removed: the device trains again."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT offer, seal IS seal(offer, federation) FROM spool").fetchone()
        if row is not None and not row[1]:
            self.delete_update()
            return None
        return from_json(row[0], OfferUpdate) if row else None

    def is_sound(self, offer: OfferUpdate) -> bool:
        """Whether the spooled update matches `offer`."""
        digest = hashlib.sha256()
        for offset in range(0, offer.size_bytes, _HASHED_BYTES):
            digest.update(self.read_payload(offset, _HASHED_BYTES))
        return digest.hexdigest() == offer.sha256

    def delete_update(self) -> None:
        """Delete the spooled update, which was damaged on the disk: the device trains again."""
        log.warning("the update was damaged on the disk before it was sent; the device trains again")
        self._remove("spool", "spooled_state")

    def read_payload(self, offset: int, size_bytes: int) -> bytes:
        """Up to `size_bytes` of the spooled update from `offset` on, without reading the rest."""
        with (
            self._database.reading() as cursor,
            cursor.connection.blobopen("spool", "payload", 1, readonly=True) as blob,
        ):
            blob.seek(offset)
            return blob.read(size_bytes)

    def finish(self, outcome: Outcome, sentence: str, *, now: float, is_uncounted: bool = False) -> None:
        """End the current assignment. If the platform `is_uncounted` it, its part in a stream is deleted.

        An accepted update replaces the device's states and uses up the portions that it started from; any other outcome
        leaves states and portions unchanged. Outcomes are listed in the order of insertion, not by `now`: the clock of
        a device may start in the past.
        """
        ended = self.current()
        with self._database.transaction() as cursor:
            if outcome == "accepted":
                cursor.execute("DELETE FROM device_state WHERE federation IN (SELECT federation FROM spool)")
                cursor.execute("INSERT INTO device_state SELECT federation, slot, content FROM spooled_state")
                cursor.execute("DELETE FROM kept_portion WHERE assignment IN (SELECT assignment FROM work)")
            else:
                cursor.execute("UPDATE kept_portion SET assignment = NULL")
            if ended is not None:
                row = (ended.assignment, outcome, sentence, now, ended.federation, ended.round)
                cursor.execute("INSERT OR REPLACE INTO finished VALUES (?, ?, ?, ?, ?, ?)", row)
            cursor.execute(
                "DELETE FROM finished WHERE assignment NOT IN"
                " (SELECT assignment FROM finished ORDER BY rowid DESC LIMIT ?)",
                (_KEPT_OUTCOMES,),
            )
            if is_uncounted:
                cursor.execute("DELETE FROM stream_part WHERE assignment IN (SELECT assignment FROM work)")
            for table in ("work", "checkpoint", "meeting", "spool", "spooled_state", "secure_sum", "masked_vector"):
                cursor.execute(f"DELETE FROM {table}")  # noqa: S608  # names from the line above

    def _remove(self, *tables: str) -> None:
        with self._database.transaction() as cursor:
            for table in tables:
                cursor.execute(f"DELETE FROM {table}")  # noqa: S608  # names from this module

    def is_finished(self, assignment: str) -> bool:
        """Whether `assignment` ended here; the platform may still name it in an answer sent earlier."""
        with self._database.reading() as cursor:
            return cursor.execute("SELECT 1 FROM finished WHERE assignment = ?", (assignment,)).fetchone() is not None

    def outcomes(self) -> tuple[Finished, ...]:
        """How the latest assignments ended, newest first."""
        with self._database.reading() as cursor:
            rows = cursor.execute(
                "SELECT assignment, outcome, sentence, at, federation, round FROM finished ORDER BY rowid DESC"
            ).fetchall()
        return tuple(Finished(*row) for row in rows)

    def states(self, federation: str) -> Mapping[str, bytes]:
        """By slot, the device states of the last accepted update in `federation`."""
        with self._database.reading() as cursor:
            query = "SELECT slot, content FROM device_state WHERE federation = ? ORDER BY slot"
            return dict(cursor.execute(query, (federation,)).fetchall())

    def leave_federations(self) -> None:
        """Delete all device states, because the device is in no federation any more."""
        with self._database.reading() as cursor:
            if cursor.execute("SELECT 1 FROM device_state").fetchone() is None:
                return  # called at every check-in, which usually writes nothing
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM device_state")

    def hold_model(self, signed: SignedManifest) -> None:
        """Record that every part of this version is on the device."""
        with self._database.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO held_model VALUES (1, ?)", (msgspec.json.encode(signed),))

    def held_model(self) -> SignedManifest | None:
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT signed FROM held_model").fetchone()
        try:
            return from_json(row[0], SignedManifest) if row else None
        except msgspec.DecodeError:  # damaged on the disk; the signature covers the rest
            log.warning("the manifest of the model was damaged on the disk; it is fetched again")
            self._remove("held_model")
            return None

    def delete_model(self) -> None:
        """Delete the held version, so that the platform sends it again."""
        self._remove("held_model")
