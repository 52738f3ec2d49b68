"""The store: samples, work, residuals, journal."""

import errno
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home, RunLock, is_running
from coterie_agent.store.database import _FIRST, Database, StoreFailed, StoreFull, failure_of_disk, failure_of_file
from coterie_agent.store.meetings import MeetingProgress
from coterie_agent.store.opened import Store, open_store
from coterie_agent.store.samples import Row, SampleStore, Snapshot
from coterie_agent.store.secure_sum import Remembered
from coterie_agent.store.work import Checkpoint, Outcome, Spooled, TrainingProgress
from coterie_wire.helping import StandingPlan
from coterie_wire.meeting import Gathering
from coterie_wire.messages import Enrolled, OfferUpdate
from tests.contract.samples import SIGNED_MANIFEST
from tests.coterie_agent.bundles import Bundle
from tests.coterie_agent.fake_platform import FakePlatform

ROW = Row(bytes(16), 2)
OFFER = OfferUpdate(
    assignment="a1",
    sha256="0" * 64,
    size_bytes=6,
    samples=4,
    steps_done=1,
    steps_total=2,
    loss_before=1.0,
    loss_after=0.5,
    accuracy_before=0.25,
    train_s=0.1,
)


def test_samples_are_counted_by_class_and_the_oldest_go_first(store: Store) -> None:
    assert store.samples.add([ROW, Row(bytes(16), 0)], max_samples=3) == 2
    assert store.samples.add([ROW, ROW], max_samples=3) == 2
    assert store.samples.count() == 3
    assert store.samples.class_counts() == (1, 0, 2)
    assert store.samples.ids(store.samples.snapshot()) == [2, 3, 4]


def test_samples_that_were_there_before_are_counted(store: Store) -> None:
    store.samples.add([ROW, Row(bytes(16), 0)], max_samples=9)
    assert store.samples.repeated(2) == 0
    stored = store.samples.add([ROW, Row(bytes(16), 1), ROW], max_samples=9)
    assert store.samples.repeated(stored) == 2
    store.samples.add([ROW], max_samples=9, replace=True)
    assert store.samples.repeated(1) == 0


def test_samples_of_classes_that_the_model_does_not_know_are_set_aside_and_come_back(store: Store) -> None:
    store.samples.add([Row(bytes(16), label) for label in (0, 3, 1, 5, 3)], max_samples=10)
    store.samples.fit(3)
    assert (store.samples.count(), store.samples.usable(), store.samples.set_aside()) == (5, 2, 3)
    assert (store.samples.class_counts(), store.samples.labels()) == ((1, 1), (0, 1))
    assert store.samples.snapshot() == store.samples.snapshot(since=1.0) == Snapshot(1, 3)
    assert store.samples.ids(Snapshot(1, 5)) == store.samples.newest_ids(up_to=5, count=3) == [1, 3]
    store.samples.fit(4)
    assert store.samples.ids(Snapshot(1, 5)) == [1, 2, 3, 5]
    store.samples.fit(0)
    assert store.samples.ids(Snapshot(1, 5)) == [1, 2, 3, 4, 5]


def test_a_broken_row_leaves_everything_as_it_was(store: Store) -> None:
    store.samples.add([ROW], max_samples=10)
    with pytest.raises(AgentError, match="3 features and a class among samples of 4"):
        store.samples.add([ROW, Row(bytes(12), 1)], max_samples=10, replace=True)
    with pytest.raises(AgentError) as caught:
        store.samples.add([], max_samples=10, replace=True)
    assert caught.value.code == "ingest.empty"
    assert store.samples.class_counts() == (0, 0, 1)


def test_replacing_takes_another_width(store: Store) -> None:
    store.samples.add([ROW], max_samples=10)
    store.samples.add([Row(bytes(12), 1)], max_samples=10, replace=True)
    assert (store.samples.count(), store.samples.widths()) == (1, (3, 0))


def test_a_snapshot_sees_no_later_samples_and_loading_keeps_the_order(store: Store) -> None:
    store.samples.add([ROW, Row(b"\1" * 16, 1)], max_samples=10)
    snapshot = store.samples.snapshot()
    store.samples.add([ROW], max_samples=10)
    assert store.samples.ids(snapshot) == [1, 2]
    assert [row.id for row in store.samples.load([2, 99, 1])] == [2, 1]


@pytest.fixture
def working(store: Store, platform: FakePlatform) -> Store:
    platform.assign("a1")
    assert platform.assignment is not None
    store.work.accept(platform.assignment)
    return store


def test_work_survives_the_process(working: Store, home: Home) -> None:
    progress = TrainingProgress(Snapshot(1, 9), 1.0, 0.5, 0.1, 0.2)
    working.work.save_checkpoint(Checkpoint(progress, b"{}", b"tensors"))
    with open_store(home) as again:
        current = again.work.current()
        assert current is not None
        assert current.assignment == "a1"
        assert again.work.checkpoint() == Checkpoint(progress, b"{}", b"tensors")


def test_meetings_outlive_the_process_and_end_with_the_assignment(working: Store, home: Home) -> None:
    progress = TrainingProgress(Snapshot(1, 9), 1.0, 0.5, 0.1, 0.2)
    gathering = Gathering(SIGNED_MANIFEST, 9, 1, 4, 30.0)
    working.work.save_checkpoint(Checkpoint(progress, b"{}", b"of the part that has ended"))
    for number in (1, 2):
        working.meetings.save(MeetingProgress(number, progress, 5, 9, gathering), b"difference")
    with open_store(home) as again:
        assert again.meetings.load() == (MeetingProgress(2, progress, 5, 9, gathering), b"difference")
        assert again.work.checkpoint() is None
        again.work.finish("dropped", "why", now=1)
        assert again.meetings.load() is None


def test_a_spooled_update_is_read_in_pieces_and_replaces_the_checkpoint(working: Store) -> None:
    working.work.save_checkpoint(Checkpoint(TrainingProgress(Snapshot(1, 9), 1.0, 0.5, 0.1, 0.2), b"{}", b""))
    working.work.spool(Spooled(OFFER, "digits", b"abcdef", {}))
    assert working.work.checkpoint() is None
    assert working.work.offer() == OFFER
    assert [working.work.read_payload(offset, 4) for offset in (0, 4, 6)] == [b"abcd", b"ef", b""]


@pytest.mark.parametrize(("outcome", "kept"), [("accepted", b"new"), ("dropped", b"old"), ("released", b"old")])
def test_only_an_accepted_update_replaces_the_states(
    working: Store, platform: FakePlatform, outcome: Outcome, kept: bytes
) -> None:
    working.work.spool(Spooled(OFFER, "digits", b"x", {"codec": b"old", "local": b"first"}))
    assert working.work.states("digits") == {}
    working.work.finish("accepted", "", now=1)
    assert working.work.states("digits") == {"codec": b"old", "local": b"first"}
    platform.assign("a2")
    assert platform.assignment is not None
    working.work.accept(platform.assignment)
    working.work.spool(Spooled(OFFER, "digits", b"x", {"codec": b"new"}))
    working.work.finish(outcome, "why", now=2)
    assert working.work.states("digits")["codec"] == kept
    assert ("local" in working.work.states("digits")) is (outcome != "accepted"), "a state that has ended goes"
    assert working.work.offer() is None
    assert working.work.is_finished("a2")
    assert [finished.outcome for finished in working.work.outcomes()] == [outcome, "accepted"]


def test_each_federation_has_states_of_its_own_until_the_device_leaves_it(store: Store, platform: FakePlatform) -> None:
    for number, federation in enumerate(("digits", "letters")):
        platform.assign(f"a{number}")
        assert platform.assignment is not None
        store.work.accept(platform.assignment)
        store.work.spool(Spooled(OFFER, federation, b"x", {"codec": federation.encode()}))
        store.work.finish("accepted", "", now=1)
    store.peers.set_plan(StandingPlan("0" * 64, "digits", msgspec.Raw(b"{}")))
    store.peers.set_plan(StandingPlan("1" * 64, "letters", msgspec.Raw(b"{}")))
    assert store.work.states("digits") == {}
    assert store.work.states("letters") == {"codec": b"letters"}
    store.work.leave_federations()
    assert store.work.states("letters") == {}


def test_the_credential_is_for_the_owner_alone(store: Store, home: Home, bundle: Bundle) -> None:
    enrolled = Enrolled(device="d1", credential="secret", platform_key=bundle.platform_key, check_in_s=30)
    store.identity.save(url="https://platform.example", name="kiosk", enrolled=enrolled)
    assert stat.S_IMODE(home.credential.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.state.stat().st_mode) == 0o700
    assert store.identity.credential() == "secret"
    store.samples.add([ROW], max_samples=10)
    store.identity.delete()
    assert store.identity.find() is None
    assert not home.credential.exists()
    assert store.samples.count() == 1


def test_the_key_of_the_device_is_for_the_owner_alone_and_ends_when_it_leaves(
    store: Store, home: Home, bundle: Bundle
) -> None:
    key = bytes(store.identity.key())
    assert stat.S_IMODE(home.identity_key.stat().st_mode) == 0o600
    with open_store(home) as again:
        assert bytes(again.identity.key()) == key
    store.identity.delete()
    assert not home.identity_key.exists()
    left = bytes(store.identity.key())
    assert left != key
    enrolled = Enrolled(device="d1", credential="secret", platform_key=bundle.platform_key, check_in_s=30)
    store.identity.save(url="https://platform.example", name="kiosk", enrolled=enrolled)
    assert bytes(store.identity.key()) != left


def test_a_damaged_key_of_the_device_is_not_replaced_in_silence(store: Store, home: Home) -> None:
    store.identity.key()
    content = bytearray(home.identity_key.read_bytes())
    content[5] ^= 1
    home.identity_key.write_bytes(content)
    with pytest.raises(AgentError) as caught:
        store.identity.key()
    assert caught.value.code == "agent.no_identity_key"


def test_a_sum_is_forgotten_with_its_assignment(working: Store, platform: FakePlatform) -> None:
    working.secure_sum.keep("a1", b"{}")
    offer = working.secure_sum.keep_vector("a1", b"{}", b"vector")
    assert working.secure_sum.find("a1") == Remembered(b"{}", offer)
    working.work.finish("dropped", "why", now=1)
    assert working.secure_sum.find("a1") is None
    with pytest.raises(StoreFailed):
        working.secure_sum.read_vector(0, 6)


def test_a_sum_outlives_a_damaged_assignment_and_no_other(store: Store, platform: FakePlatform, home: Home) -> None:
    for name in ("a1", "a1", "a2"):
        platform.assign(name)
        assert platform.assignment is not None
        store.work.accept(platform.assignment)
        if name == "a1":
            store.secure_sum.keep("a1", b"{}")
            with closing(sqlite3.connect(home.database, isolation_level=None)) as connection:
                connection.execute("UPDATE work SET assignment = 'damaged'")
            assert store.work.current() is None
            assert store.secure_sum.find("a1") is not None
    assert store.secure_sum.find("a1") is None


def test_whether_figures_are_hidden_holds_until_another_assignment_and_is_not_lost(
    store: Store, platform: FakePlatform, home: Home
) -> None:
    assert not store.work.is_masked()
    for number, is_masked in enumerate((True, False)):
        platform.assign(f"a{number}")
        assert platform.assignment is not None
        store.work.accept(platform.assignment, is_masked=is_masked)
        store.work.finish("accepted", "", now=1)
        assert store.work.is_masked() is is_masked
    with closing(sqlite3.connect(home.database, isolation_level=None)) as connection:
        connection.execute("UPDATE masking SET is_masked = 2")
    assert store.work.is_masked()
    with closing(sqlite3.connect(home.database, isolation_level=None)) as connection:
        connection.execute("UPDATE masking SET is_masked = 0, seal = NULL")
    assert store.work.is_masked()


def test_what_was_sent_adds_up(store: Store) -> None:
    for day, size in (("2026-01-01", 10), ("2026-01-01", 5), ("2026-01-02", 1)):
        store.journal.record_sent("update", size, day=day)
    ((what, messages, size),) = [(s.what, s.messages, s.bytes) for s in store.journal.sent_totals()]
    assert (what, messages, size) == ("update", 3, 16)


def test_a_store_of_another_schema_is_refused(store: Store, home: Home) -> None:
    with closing(sqlite3.connect(home.database)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(AgentError, match="schema 99"), open_store(home):
        pass


def test_a_file_that_is_no_store_is_refused(home: Home) -> None:
    home.create()
    home.database.write_bytes(b"no database" * 100)
    with pytest.raises(StoreFailed) as caught, open_store(home):
        pass
    assert (caught.value.code, caught.value.exit_code) == ("store.damaged", Exit.STORE_DAMAGED)


def test_a_full_disk_loses_nothing_that_was_stored(store: Store, home: Home) -> None:
    store.samples.add([ROW], max_samples=10)
    with closing(Database(home.database)) as database:
        with database.reading() as cursor:
            cursor.execute("PRAGMA max_page_count = 1")  # SQLite reports it as a full disk
        for _ in range(2):
            with pytest.raises(StoreFull):
                SampleStore(database).add([Row(bytes(1 << 20), 0)], max_samples=10, replace=True)
    assert store.samples.class_counts() == (0, 0, 1)


@pytest.mark.parametrize(
    ("code", "free_blocks", "flags", "told"),
    [
        (sqlite3.SQLITE_IOERR_SHMSIZE, 0, 0, "store.full"),
        (sqlite3.SQLITE_IOERR_SHMSIZE, 1 << 20, 0, None),
        (sqlite3.SQLITE_CANTOPEN, 1 << 20, os.ST_RDONLY, "store.read_only"),
        (sqlite3.SQLITE_READONLY, 0, os.ST_RDONLY, "store.read_only"),
        (sqlite3.SQLITE_BUSY, 0, os.ST_RDONLY, None),
    ],
)
def test_a_disk_that_takes_nothing_is_named_where_sqlite_names_another_reason(
    code: int, free_blocks: int, flags: int, told: str | None
) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    disk = os.statvfs_result((4096, 4096, 1 << 20, free_blocks, free_blocks, 0, 0, 0, flags, 255))
    failure = failure_of_disk(Path("store.sqlite3"), error, disk)
    assert (failure and failure.code) == told


@pytest.mark.parametrize(
    ("number", "told"), [(errno.ENOSPC, "store.full"), (errno.EROFS, "store.read_only"), (errno.EISDIR, None)]
)
def test_a_file_beside_the_store_tells_of_its_disk(number: int, told: str | None) -> None:
    failure = failure_of_file(Path("agent"), OSError(number, os.strerror(number)))
    assert (failure and failure.code) == told


@pytest.mark.parametrize("left", [b"", b"\xff\xfe", b"cod_\0\0"])
def test_a_credential_that_the_disk_has_damaged_is_not_shown(store: Store, home: Home, left: bytes) -> None:
    home.credential.write_bytes(left)
    with pytest.raises(AgentError) as caught:
        store.identity.credential()
    assert (caught.value.code, caught.value.exit_code) == ("agent.no_credential", Exit.NOT_JOINED)
    assert "--force" in caught.value.detail


def test_a_running_agent_writes_while_a_file_is_read(store: Store, home: Home) -> None:
    def rows() -> Iterator[Row]:
        with open_store(home) as agent:
            agent.journal.record_sent("update", 1, day="2026-01-01")
            agent.samples.add([ROW], max_samples=10)
        yield ROW

    assert store.samples.add(rows(), max_samples=10) == 1
    assert store.samples.count() == 2


def test_asking_waits_for_nobody_who_writes(store: Store, home: Home) -> None:
    store.samples.add([ROW], max_samples=10)
    with closing(Database(home.database)) as database, database.transaction(), open_store(home) as asked:
        assert asked.samples.count() == 1


def test_outcomes_are_in_order_though_the_clock_starts_in_the_past(store: Store, platform: FakePlatform) -> None:
    for number in range(60):
        platform.assign(f"a{number}")
        assert platform.assignment is not None
        store.work.accept(platform.assignment)
        store.work.finish("dropped", "", now=1e9 - number)
    assert [outcome.assignment for outcome in store.work.outcomes()] == [f"a{number}" for number in range(59, 9, -1)]
    assert store.work.is_finished("a59")


def test_one_agent_runs_on_a_home(home: Home) -> None:
    home.create()
    assert not is_running(home)
    lock = RunLock(home.lock)
    lock.acquire()
    assert is_running(home)
    with pytest.raises(AgentError) as caught:
        RunLock(home.lock).acquire()
    assert caught.value.code == "agent.already_running"
    lock.release()
    assert not is_running(home)


def test_a_store_of_an_earlier_agent_is_taken_over(home: Home) -> None:
    home.create()
    with closing(sqlite3.connect(home.database)) as connection:
        connection.executescript(_FIRST + "PRAGMA user_version = 1;")
        connection.execute("INSERT INTO sample (x, label) VALUES (?, 1)", (b"\0\0\0\0",))
        connection.commit()
    with open_store(home) as store:
        assert (store.samples.count(), store.samples.labels()) == (1, (1,))
        snapshot = store.samples.snapshot(since=time.time() - 60)
        assert len(store.samples.ids(snapshot)) == 1, "what was there counts as come now"
        assert not store.samples.ids(store.samples.snapshot(since=time.time() + 60))


def test_a_teachers_probabilities_go_with_their_sample(store: Store) -> None:
    store.samples.add([Row(b"\0\0\0\0", 0), Row(b"\0\0\0\0", 1)], max_samples=2)
    first, second = store.samples.ids(store.samples.snapshot())
    store.teaching.keep("v1", {first: b"ab", second: b"cd", 99: b"ef"})
    assert store.teaching.load("v1", [first, second, 99]) == {first: b"ab", second: b"cd"}
    assert store.teaching.missing("v2", [first, second]) == [first, second]
    store.samples.add([Row(b"\0\0\0\0", 0)], max_samples=2)
    assert store.teaching.load("v1", [first, second]) == {second: b"cd"}
    store.teaching.begin("v2")
    assert store.teaching.load("v1", [second]) == {}
