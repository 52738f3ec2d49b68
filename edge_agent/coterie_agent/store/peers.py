"""The personal model, the progress of its evaluation, the help requests made and the help given."""

import logging
import sqlite3
from collections.abc import Collection
from typing import Literal, NamedTuple, TypeVar

import msgspec

from coterie_agent.store.database import Database
from coterie_agent.store.personal_model import (
    PersonalEdition,
    PersonalTensors,
    carry_over,
    drop_personal,
    find_personal,
    is_answering,
    undo_personal,
    write_personal,
)
from coterie_wire.conditions import Reason
from coterie_wire.helping import AskHelp, GiveVerdict, OfferPortion, SampleNoise, StandingPlan
from coterie_wire.structs import from_json

log = logging.getLogger(__name__)
S = TypeVar("S", bound=msgspec.Struct)
Outcome = Literal["kept", "undone", "unanswered", "withdrawn", "served", "declined", "replaced"]
_KEPT_OUTCOMES = 50
_LEFT = "left"
"""Name of the row with the plan that applied last, while none applies."""
_UNANSWERED = "unanswered"
_TUNED, _TUNING, _TENSORS, _BEST = "tuned", "tuning", "tuning tensors", "tuning best"
_KEPT_PORTIONS = 16
"""Portions that wait for the next update; a bound, as without rounds there is no next update."""


class Reading(msgspec.Struct, frozen=True):
    """How far the device has read its samples, in the order in which they were added."""

    judged: int
    """Number of the newest sample that the personal model was evaluated on."""
    trained: int
    """Number of the newest sample that the personal model was trained on locally."""
    reported_drifting: bool | None = None
    """Whether the personal model has begun to fail, as last reported to the platform; None: not reported."""
    trained_at: float = 0.0
    """Unix time of that training."""
    batches: int = 0
    """Batches that the personal model was evaluated on."""
    watch: bytes = b""
    """A `coterie_learning.watch.Watch`, whose classes need NumPy; empty before the first batch was evaluated."""


class KeptPortion(NamedTuple):
    """A stored portion; the device's next update starts from it."""

    transfer: str
    plan: bytes
    """The `coterie_learning.device_plan.DevicePlan` under which it was sent."""
    classes: tuple[int, ...]
    payload: bytes


class Helped(msgspec.Struct, frozen=True):
    """How a transfer or a help request ended on this device, or what replaced its personal model."""

    name: str
    outcome: Outcome
    sentence: str
    at: float


class Unanswered(msgspec.Struct, frozen=True):
    """The latest help request, which the platform ended without a portion."""

    classes: tuple[int, ...]
    reason: Reason


class Tuned(msgspec.Struct, frozen=True):
    """How the latest training of a personal model ended, beside the version or in a round."""

    digest: str
    """Digest of the plan that it was trained under."""
    version: str
    """The version that it was trained from."""
    trained_up_to: int
    """Number of the newest sample at that time."""
    compared_with: str
    """The version that it was compared with."""
    answers: bool
    """Whether the personal model answers instead of that version."""
    samples: int
    """Samples held out, on which they were compared."""
    version_accuracy: float | None
    own_accuracy: float | None
    """Accuracy of the model that answers."""
    reported: bool = False
    """Whether it was reported to the platform, or is not to be reported."""


class Tuning(msgspec.Struct, frozen=True):
    """An unfinished training of a personal model; resuming from it gives the same bits as never having stopped."""

    digest: str
    version: str
    first: int
    """Numbers of the oldest and of the newest sample that it trains on."""
    last: int
    client: bytes
    """A `coterie_learning.client.training.Progress`, which needs NumPy, as JSON."""


class TuningTensors(NamedTuple):
    """The tensors of an unfinished training."""

    tensors: bytes
    """Parameters, statistics and optimiser state, as safetensors."""
    best: bytes | None
    """Parameters of the best epoch; None: none was evaluated yet."""


class PeersStatus(msgspec.Struct, frozen=True):
    """What the device does between rounds, for its owner."""

    federation: str
    batches: int
    """Batches on which its personal model was evaluated."""
    error: float | None
    """Its error rate on the newest of them."""
    drifting: bool
    """Whether its personal model has begun to fail."""
    needs: tuple[int, ...]
    """Classes that it has requested help with, or would."""
    wait: Reason | None
    """Why it has not received help yet; None: it needs no help."""
    untrained: Reason | None = None
    """Why it does not train between rounds; None: it does, or the plan does not ask for it."""
    tuned: Tuned | None = None
    """The comparison of its personal model with the version after its latest training; None: not compared."""
    noise: SampleNoise | None = None
    """The noise of its profiles and requests; None: they have none."""


class PeersStore:
    """Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def effective_plan(self) -> StandingPlan | None:
        """The plan that applies between rounds, as the platform last sent it."""
        return self._find("standing", StandingPlan)

    def set_plan(self, standing: StandingPlan) -> None:
        """Set the plan; delete device states of another federation, and keep its personal model for comparison."""
        with self._database.transaction() as cursor:
            known = _read(cursor, "standing", StandingPlan) or _read(cursor, _LEFT, StandingPlan)
            if known is not None and known.federation != standing.federation:
                carry_over(cursor)
                cursor.execute("DELETE FROM device_state WHERE federation = ?", (known.federation,))
            _write(cursor, "standing", standing)

    def remove_plan(self) -> None:
        """Record that no plan applies between rounds any more. The personal model stays in use, see `replace`."""
        with self._database.transaction() as cursor:
            known = _read(cursor, "standing", StandingPlan)
            cursor.execute("DELETE FROM peers")
            if known is not None:
                _write(cursor, _LEFT, known)

    def replace(self, before: PersonalEdition, helped: Helped | None) -> None:
        """Predict with the version that the device holds from now on, and record the reason for the owner, if any.

        Nothing changes where the personal model is not what it was `before`.
        """
        with self._database.transaction() as cursor:
            if find_personal(cursor) == before:
                drop_personal(cursor)
                if helped is not None:
                    _record(cursor, helped)

    def personal(self) -> PersonalEdition | None:
        """Which parameters the device predicts with; None: those of the version that it holds."""
        with self._database.reading() as cursor:
            return find_personal(cursor)

    def personal_tensors(self) -> bytes | None:
        """The parameters themselves, as safetensors. Damaged ones are removed: the version answers from then on."""
        with self._database.reading() as cursor:
            row = cursor.execute("SELECT tensors, seal IS seal(base, edition, tensors) FROM personal_model").fetchone()
        if row is not None and not row[1]:
            log.warning("the personal model was damaged on the disk; it is removed")
            with self._database.transaction() as cursor:
                drop_personal(cursor)
            return None
        return row[0] if row else None

    def is_personal(self) -> bool:
        """Whether the device predicts with parameters of its own."""
        with self._database.reading() as cursor:
            return is_answering(cursor)

    def tuning(self) -> Tuning | None:
        """The unfinished training of a personal model."""
        return self._find(_TUNING, Tuning)

    def tuning_tensors(self) -> TuningTensors | None:
        """The tensors of the unfinished training; None where they were damaged."""
        with self._database.reading() as cursor:
            query = "SELECT name, content, seal IS seal(name, content) FROM peers WHERE name IN (?, ?)"
            rows = cursor.execute(query, (_TENSORS, _BEST)).fetchall()
        found = {name: content for name, content, is_sound in rows if is_sound}
        if len(found) < len(rows):
            log.warning("the training of the personal model was damaged on the disk; it begins anew")
            return None
        return TuningTensors(found[_TENSORS], found.get(_BEST))

    def save_tuning(self, tuning: Tuning, tensors: TuningTensors) -> None:
        """Store the state of a training, in place of any other."""
        with self._database.transaction() as cursor:
            _drop_tuning(cursor)
            _write(cursor, _TUNING, tuning)
            rows = [(name, content) for name, content in zip((_TENSORS, _BEST), tensors, strict=True) if content]
            cursor.executemany("INSERT INTO peers VALUES (?1, ?2, seal(?1, ?2))", rows)

    def tuned(self) -> Tuned | None:
        """How the latest training of a personal model ended."""
        return self._find(_TUNED, Tuned)

    def end_tuning(
        self, tuned: Tuned, *, before: PersonalEdition | None, own: PersonalTensors
    ) -> PersonalEdition | None:
        """Record how a training ended, and predict with `own` from now on.

        None, and nothing changes but that the training is over, where the personal model is not what it was `before`.
        """
        with self._database.transaction() as cursor:
            _drop_tuning(cursor)
            if find_personal(cursor) != before:
                return None
            write_tuned(cursor, tuned)
            return _replace_personal(cursor, own)

    def compare(self, tuned: Tuned, *, before: PersonalEdition, own: PersonalTensors | None) -> PersonalEdition | None:
        """Record how the personal model does beside another version, and predict with `own` from now on, if any.

        None, and nothing changes, where the personal model is not what it was `before`.
        """
        with self._database.transaction() as cursor:
            if find_personal(cursor) != before:
                return None
            write_tuned(cursor, tuned)
            return before if own is None else _replace_personal(cursor, own)

    def mark_reported(self, tuned: Tuned) -> None:
        """Record that `tuned` was reported to the platform, unless another training has ended since."""
        with self._database.transaction() as cursor:
            if _read(cursor, _TUNED, Tuned) == tuned:
                _write(cursor, _TUNED, msgspec.structs.replace(tuned, reported=True))

    def adopt(self, own: PersonalTensors) -> PersonalEdition:
        """Predict with `own` from now on."""
        with self._database.transaction() as cursor:
            return _replace_personal(cursor, own)

    def undo_personal_of(self, withdrawn: Collection[str]) -> bool:
        """Restore or remove a personal model that came from one of the versions `withdrawn`; whether it did."""
        with self._database.transaction() as cursor:
            return undo_personal(cursor, withdrawn)

    def reading(self) -> Reading | None:
        return self._find("reading", Reading)

    def save_reading(self, reading: Reading) -> None:
        """Record that samples were evaluated."""
        with self._database.transaction() as cursor:
            _write(cursor, "reading", reading)

    def record_training(self, reading: Reading, *, before: PersonalEdition, tensors: bytes) -> PersonalEdition | None:
        """Record that the personal model was trained on samples that were evaluated before.

        None, and nothing has changed, where the personal model is not what it was `before`.
        """
        with self._database.transaction() as cursor:
            if find_personal(cursor) != before:
                return None
            _write(cursor, "reading", reading)
            return _replace_personal(cursor, PersonalTensors(before.base, tensors))

    def open_request(self) -> AskHelp | None:
        """The open help request."""
        return self._find("asked", AskHelp)

    def ask(self, ask: AskHelp, reading: Reading) -> None:
        """Store the request as open, and record it in the watch."""
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM peers WHERE name = ?", (_UNANSWERED,))
            _write(cursor, "asked", ask)
            _write(cursor, "reading", reading)

    def unanswered(self) -> Unanswered | None:
        """The latest request, where it ended without a portion."""
        return self._find(_UNANSWERED, Unanswered)

    def end_request(self, outcome: Outcome, sentence: str, *, now: float, unanswered: Reason | None = None) -> None:
        """Record that the open request has ended; `unanswered` says why without a portion."""
        with self._database.transaction() as cursor:
            asked = _read(cursor, "asked", AskHelp)
            if asked is not None:
                _record(cursor, Helped(asked.request, outcome, sentence, now))
                if unanswered is not None:
                    _write(cursor, _UNANSWERED, Unanswered(asked.classes, unanswered))
            cursor.execute("DELETE FROM peers WHERE name IN ('asked', 'verdict')")

    def verdict(self) -> GiveVerdict | None:
        """The verdict on a portion that was not yet reported."""
        return self._find("verdict", GiveVerdict)

    def judge(
        self, verdict: GiveVerdict, kept: KeptPortion | None, *, before: PersonalEdition, tensors: bytes
    ) -> PersonalEdition | None:
        """Record the verdict on a portion; if it is kept, `tensors` become the personal model in one transaction.

        None, and nothing has changed, where the personal model is not what it was `before`.
        """
        with self._database.transaction() as cursor:
            if find_personal(cursor) != before:
                return None
            _write(cursor, "verdict", verdict)
            if kept is None:
                return before
            content = msgspec.json.encode(_Terms(kept.plan, kept.classes))
            row = (kept.transfer, content, kept.payload)
            cursor.execute("INSERT OR REPLACE INTO kept_portion VALUES (?1, ?2, ?3, NULL, seal(?1, ?2, ?3))", row)
            cursor.execute(
                "DELETE FROM kept_portion WHERE transfer NOT IN"
                " (SELECT transfer FROM kept_portion ORDER BY rowid DESC LIMIT ?)",
                (_KEPT_PORTIONS,),
            )
            return _replace_personal(cursor, PersonalTensors(before.base, tensors))

    def portions_for(self, assignment: str) -> tuple[KeptPortion, ...]:
        """The portions that the update of `assignment` starts from, oldest first: always the same for one assignment.

        They are the portions stored when this was first called for the assignment.
        """
        with self._database.transaction() as cursor:
            known = cursor.execute("SELECT 1 FROM kept_portion WHERE assignment = ?", (assignment,)).fetchone()
            if known is None:
                cursor.execute("UPDATE kept_portion SET assignment = ?", (assignment,))
            return _portions(cursor, "assignment = ?", assignment)

    def portions_after(self, assignment: str) -> tuple[KeptPortion, ...]:
        """Portions stored after the ones that the update of `assignment` starts from, oldest first."""
        with self._database.reading() as cursor:
            return _portions(cursor, "assignment IS NOT ?", assignment)

    def serving(self) -> OfferPortion | None:
        """The offer of the portion that is being uploaded."""
        return self._find("serving", OfferPortion)

    def serve(self, offer: OfferPortion, payload: bytes) -> None:
        """Store a portion for upload, so that its bytes stay the same if the upload is interrupted."""
        with self._database.transaction() as cursor:
            _write(cursor, "serving", offer)
            row = ("served bytes", payload)
            cursor.execute("INSERT OR REPLACE INTO peers VALUES (?1, ?2, seal(?1, ?2))", row)

    def read_served(self, offset: int, size_bytes: int) -> bytes:
        """Up to `size_bytes` of the portion that is being uploaded, from `offset` on."""
        with self._database.reading() as cursor:
            row = cursor.execute(
                "SELECT substr(content, ?, ?) FROM peers WHERE name = 'served bytes'", (offset + 1, size_bytes)
            ).fetchone()
        return bytes(row[0]) if row else b""

    def end_serving(self, transfer: str, outcome: Outcome, sentence: str, *, now: float) -> None:
        """Record that the transfer has ended on this device."""
        with self._database.transaction() as cursor:
            _record(cursor, Helped(transfer, outcome, sentence, now))
            cursor.execute("DELETE FROM peers WHERE name IN ('serving', 'served bytes')")

    def has_ended(self, name: str) -> bool:
        """Whether a transfer or a request ended here; the platform may still name it in an answer sent earlier."""
        with self._database.reading() as cursor:
            return cursor.execute("SELECT 1 FROM helped WHERE name = ?", (name,)).fetchone() is not None

    def outcomes(self) -> tuple[Helped, ...]:
        """How the latest requests and transfers ended, newest first."""
        with self._database.reading() as cursor:
            rows = cursor.execute("SELECT name, outcome, sentence, at FROM helped ORDER BY rowid DESC").fetchall()
        return tuple(Helped(*row) for row in rows)

    def _find(self, name: str, kind: type[S]) -> S | None:
        with self._database.reading() as cursor:
            return _read(cursor, name, kind)


class _Terms(msgspec.Struct, frozen=True):
    plan: bytes
    classes: tuple[int, ...]


def write_tuned(cursor: sqlite3.Cursor, tuned: Tuned) -> None:
    """Record how a training of the personal model ended, in place of the one before."""
    _write(cursor, _TUNED, tuned)


def _drop_tuning(cursor: sqlite3.Cursor) -> None:
    cursor.execute("DELETE FROM peers WHERE name IN (?, ?, ?)", (_TUNING, _TENSORS, _BEST))


def _replace_personal(cursor: sqlite3.Cursor, own: PersonalTensors) -> PersonalEdition:
    write_personal(cursor, own)
    found = find_personal(cursor)
    assert found is not None, "it has just been written"
    return found


def _portions(cursor: sqlite3.Cursor, condition: str, value: str) -> tuple[KeptPortion, ...]:
    sound = "seal IS seal(transfer, content, payload)"
    query = f"SELECT transfer, content, payload FROM kept_portion WHERE {condition} AND {sound} ORDER BY rowid"  # noqa: S608
    found = ((row[0], from_json(row[1], _Terms), row[2]) for row in cursor.execute(query, (value,)))
    return tuple(KeptPortion(transfer, terms.plan, terms.classes, payload) for transfer, terms, payload in found)


def _read(cursor: sqlite3.Cursor, name: str, kind: type[S]) -> S | None:
    """The row `name`; None where it does not exist, or was damaged and is removed."""
    row = cursor.execute("SELECT content, seal IS seal(name, content) FROM peers WHERE name = ?", (name,)).fetchone()
    if row is not None and not row[1]:
        log.warning("what was stored as %r was damaged on the disk; it is removed", name)
        cursor.execute("DELETE FROM peers WHERE name = ?", (name,))
        return None
    return from_json(row[0], kind) if row else None


def _write(cursor: sqlite3.Cursor, name: str, value: msgspec.Struct) -> None:
    row = (name, msgspec.json.encode(value))
    cursor.execute("INSERT OR REPLACE INTO peers VALUES (?1, ?2, seal(?1, ?2))", row)


def _record(cursor: sqlite3.Cursor, helped: Helped) -> None:
    cursor.execute("INSERT OR REPLACE INTO helped VALUES (?, ?, ?, ?)", msgspec.structs.astuple(helped))
    cursor.execute(
        "DELETE FROM helped WHERE name NOT IN (SELECT name FROM helped ORDER BY rowid DESC LIMIT ?)", (_KEPT_OUTCOMES,)
    )
