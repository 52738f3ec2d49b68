"""Flash memory loses bits: what the store gives back is what was written, or it is told and goes another way."""

import hashlib
import logging
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home
from coterie_agent.store.database import StoreDamaged, StoreFailed
from coterie_agent.store.identity_log import Logged
from coterie_agent.store.meetings import MeetingProgress
from coterie_agent.store.opened import Store, open_store
from coterie_agent.store.peers import Reading
from coterie_agent.store.personal_model import PersonalTensors
from coterie_agent.store.samples import Row, Snapshot
from coterie_agent.store.work import Checkpoint, Spooled, TrainingProgress
from coterie_learning.secure_sum.identities import EMPTY, next_head
from coterie_wire.meeting import Gathering
from coterie_wire.messages import Assignment, Enrolled, OfferUpdate
from coterie_wire.secure_sum import LogEntry
from tests.contract.samples import MESSAGES, SIGNED_MANIFEST

ROWS = 400
CHECKPOINT = Checkpoint(
    TrainingProgress(Snapshot(1, ROWS), loss_before=1.5, accuracy_before=0.5, measure_s=0.1, train_s=2.0),
    b'{"step":3}',
    random.Random(1).randbytes(20_000),
    random.Random(2).randbytes(10_000),
)
MEETING = (
    MeetingProgress(4, CHECKPOINT.progress, 40, 50, Gathering(SIGNED_MANIFEST, 9, 1, 4, 30.0)),
    random.Random(6).randbytes(20_000),
)
PERSONAL = PersonalTensors("a version", random.Random(3).randbytes(20_000))
READING = Reading(judged=7, trained=5, watch=b"x" * 500)
SUM, VECTOR = b"x" * 500, random.Random(4).randbytes(20_000)
PROBABILITIES = {id_: random.Random(id_).randbytes(20) for id_ in range(1, ROWS + 1)}


ENROLLED = next(message for message in MESSAGES if isinstance(message, Enrolled))
ASSIGNMENT = Assignment("a1", "digits", 1, msgspec.Raw(b"{}"), SIGNED_MANIFEST, 11, 60.0)
PAYLOAD = random.Random(5).randbytes(1000)
OFFER = OfferUpdate("a1", hashlib.sha256(PAYLOAD).hexdigest(), len(PAYLOAD), 4, 1, 2, 1.0, 0.5, 0.25, 0.1)
LOG = [LogEntry(f"device {number}", random.Random(number).randbytes(32)) for number in range(50)]


def logged() -> list[Logged]:
    """The log as it was read."""
    found, head = [], EMPTY
    for entry in LOG:
        head = next_head(head, entry.device, entry.identity)
        found.append(Logged(entry.device, entry.identity, head))
    return found


LOGGED = logged()


def row(number: int) -> Row:
    return Row(random.Random(number).randbytes(400), number % 5)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A device in the middle of its training."""
    home = Home(tmp_path)
    with open_store(home) as store:
        store.identity.save(url="http://platform", name="kiosk", enrolled=ENROLLED)
        store.samples.add((row(number) for number in range(1, ROWS + 1)), max_samples=10 * ROWS)
        store.work.accept(ASSIGNMENT)
        store.meetings.save(*MEETING)
        store.work.save_checkpoint(CHECKPOINT)
        store.peers.adopt(PERSONAL)
        store.peers.save_reading(READING)
        store.teaching.keep("teacher", PROBABILITIES)
        store.journal.measure("train_step_s", 0.25)
        store.secure_sum.keep_vector("a1", SUM, VECTOR)
        store.identity_log.append(LOG, [entry.head for entry in LOGGED], after=0)
    return home


def summed(store: Store) -> tuple[bytes, bytes] | None:
    """What the device would go on with in its secure sum."""
    try:
        held = store.secure_sum.find("a1")
        if held is None or held.offer is None:
            return None
        store.secure_sum.check_vector(held.offer)
    except AgentError as error:
        if error.code == "agent.sum_damaged":
            return None
        raise
    return held.state, store.secure_sum.read_vector(0, held.offer.size_bytes)


READS: dict[str, tuple[Callable[[Store], object], Callable[[object], bool]]] = {
    "identity": (lambda store: store.identity.get().platform_key, lambda found: found == ENROLLED.platform_key),
    "samples": (
        lambda store: store.samples.load(range(1, ROWS + 1)),
        lambda found: all(Row(one.x, one.label, one.target) == row(one.id) for one in found),
    ),
    "counts": (lambda store: store.samples.class_counts(), lambda found: sum(found) <= ROWS and len(found) <= 5),
    "assignment": (lambda store: store.work.current(), lambda found: found in (None, ASSIGNMENT)),
    "checkpoint": (lambda store: store.work.checkpoint(), lambda found: found in (None, CHECKPOINT)),
    "meeting": (lambda store: store.meetings.load(), lambda found: found in (None, MEETING)),
    "personal model": (lambda store: store.peers.personal_tensors(), lambda found: found in (None, PERSONAL.tensors)),
    "reading": (lambda store: store.peers.reading(), lambda found: found in (None, READING)),
    "teacher": (
        lambda store: store.teaching.load("teacher", range(1, ROWS + 1)),
        lambda found: all(PROBABILITIES[id_] == one for id_, one in found.items()),
    ),
    "secure sum": (summed, lambda found: found in (None, (SUM, VECTOR))),
    "log of identities": (
        lambda store: list(store.identity_log.entries()),
        lambda found: found == LOGGED[: len(found)],
    ),
    "measured": (lambda store: store.journal.measurement("train_step_s"), lambda found: found in (None, 0.25)),
}


def flip(path: Path, bits: int, seed: int) -> None:
    content, places = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(bits):
        bit = places.randrange(8 * len(content))
        content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


@pytest.mark.parametrize(("bits", "seed"), [(bits, seed) for bits in (1, 20, 300) for seed in range(12)])
def test_whatever_bits_flip_the_device_never_works_with_what_was_not_written(bits: int, seed: int, home: Home) -> None:
    flip(home.database, bits, seed)
    for read, is_true in READS.values():
        try:
            with open_store(home) as store:
                assert is_true(read(store))
        except StoreFailed as error:
            assert (error.code, error.exit_code) == ("store.damaged", Exit.STORE_DAMAGED)


def test_a_sound_store_gives_back_everything(home: Home) -> None:
    with open_store(home) as store:
        assert all(is_true(read(store)) for read, is_true in READS.values())
        assert len(store.samples.load(range(1, ROWS + 1))) == store.samples.count() == ROWS
        assert store.work.current() == ASSIGNMENT and store.work.checkpoint() == CHECKPOINT
        assert store.meetings.load() == MEETING
        assert store.samples.damaged() == 0
        assert store.identity_log.entries() == LOGGED


def damage(home: Home, statement: str) -> None:
    """Change something behind the agent's back."""
    with closing(sqlite3.connect(home.database, isolation_level=None)) as connection:
        connection.execute(statement)


def test_a_damaged_sample_is_removed_and_told(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    damage(home, "UPDATE sample SET x = zeroblob(400), label = 4 WHERE id IN (5, 10)")
    with open_store(home) as store, caplog.at_level(logging.WARNING):
        assert [one.id for one in store.samples.load([4, 5, 10, 11])] == [4, 11]
        assert "2 samples were damaged" in caplog.text
        assert store.samples.count() == sum(store.samples.class_counts()) == ROWS - 2
        assert store.samples.class_counts() == (ROWS // 5 - 2, *[ROWS // 5] * 4)
        assert store.samples.damaged() == 2


def test_damaged_counts_are_counted_anew(home: Home) -> None:
    damage(home, "UPDATE label_count SET samples = 2000000 WHERE label = 1")
    with open_store(home) as store:
        assert store.samples.class_counts() == (ROWS // 5,) * 5


def test_a_damaged_checkpoint_has_training_begin_anew(home: Home) -> None:
    damage(home, "UPDATE checkpoint SET tensors = zeroblob(20000)")
    with open_store(home) as store:
        assert store.work.checkpoint() is None
        assert store.work.current() == ASSIGNMENT


def test_a_damaged_assignment_goes_with_its_work(home: Home) -> None:
    damage(home, "UPDATE work SET message = replace(message, '1', '2')")
    with open_store(home) as store:
        assert store.work.current() is None
        assert store.work.checkpoint() is None


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE spool SET payload = zeroblob(1000)",
        """UPDATE spool SET offer = replace(offer, '"samples":', '"samples":9')""",
    ],
    ids=["payload", "offer"],
)
def test_a_damaged_update_is_never_sent(statement: str, home: Home) -> None:
    with open_store(home) as store:
        store.work.spool(Spooled(OFFER, "federation", PAYLOAD, {}))
        assert store.work.is_sound(OFFER)
    damage(home, statement)
    with open_store(home) as store:
        found = store.work.offer()
        assert found is None or not store.work.is_sound(found)


def test_a_damaged_personal_model_leaves_the_answers_to_the_version(home: Home) -> None:
    damage(home, "UPDATE personal_model SET tensors = zeroblob(20000)")
    with open_store(home) as store:
        assert store.peers.personal_tensors() is None
        assert store.peers.personal() is None


def test_the_teacher_is_asked_again_for_what_was_damaged(home: Home) -> None:
    damage(home, "UPDATE teacher_probabilities SET probabilities = zeroblob(20) WHERE sample = 3")
    with open_store(home) as store:
        assert store.teaching.missing("teacher", [2, 3, 4]) == [3]


def test_a_damaged_identity_ends_the_agent_with_what_to_do(home: Home) -> None:
    damage(home, "UPDATE identity SET platform_key = zeroblob(32)")
    with open_store(home) as store, pytest.raises(StoreDamaged, match="join again") as ended:
        store.identity.get()
    assert ended.value.exit_code == 12


def test_an_emptied_store_is_damaged_where_the_device_has_joined_and_else_a_new_one(home: Home) -> None:
    assert home.credential.exists()
    home.database.write_bytes(b"")
    with pytest.raises(StoreDamaged, match="it is empty") as ended, open_store(home):
        pass
    assert ended.value.exit_code == 12
    home.credential.unlink()
    with open_store(home) as store:
        assert store.samples.count() == 0
