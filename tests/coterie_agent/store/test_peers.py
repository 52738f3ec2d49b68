"""What the store keeps of the peers a device keeps, and how an older store grows into it."""

import sqlite3
from contextlib import closing

import msgspec
import pytest

from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.store.database import _FIRST, _REPORTED, _SCHEMAS, SCHEMA_VERSION, Database
from coterie_agent.store.opened import Store, open_store
from coterie_agent.store.peers import KeptPortion, Reading, Tuned
from coterie_agent.store.personal_model import PersonalTensors
from coterie_agent.store.sealing import teach_sqlite
from coterie_learning.help.cartel import Cartel
from coterie_learning.watch import DriftWatch, begin_watch
from coterie_wire.helping import AskHelp, GiveVerdict, OfferPortion, Profile
from coterie_wire.messages import Assignment
from tests.coterie_agent.bundles import Bundle
from tests.coterie_agent.store.older import make_older

ASK = AskHelp("00000000-0000-0000-0000-000000000001", "digits", (2,), Profile(batch=3, classes=(2,), counts=(4,)))


def keep(store: Store, transfer: str) -> None:
    before = store.peers.personal() or store.peers.adopt(PersonalTensors("v1", b"before"))
    verdict = GiveVerdict(transfer, True, 0.5, 0.9, 8)
    kept = KeptPortion(transfer, b"{}", (2,), b"bytes")
    assert store.peers.judge(verdict, kept, before=before, tensors=b"tensors") == store.peers.personal()


@pytest.fixture
def work_in_hand(store: Store, bundle: Bundle) -> str:
    """The name of the assignment that the device has accepted."""
    store.work.accept(Assignment("a1", "digits", 1, msgspec.Raw(b"{}"), bundle.signed, 11, 60.0))
    return "a1"


def test_an_older_store_keeps_what_it_holds_and_learns_the_rest(home: Home) -> None:
    home.create()
    with closing(sqlite3.connect(home.database)) as connection:  # as the first agent wrote it
        connection.executescript(_FIRST)
        connection.execute("INSERT INTO measured VALUES ('train_step_s', 0.5)")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    with open_store(home) as store:
        assert store.journal.measurement("train_step_s") == 0.5
        store.peers.adopt(PersonalTensors("v1", b"tensors"))
        assert store.peers.personal() == ("v1", 1)


def test_what_was_told_in_an_older_store_is_what_was_reported(home: Home) -> None:
    home.create()
    watch = begin_watch(Cartel(), 3)
    older = msgspec.json.encode(msgspec.structs.replace(watch, reported=(1, 2, 3), batches_unreported=4))
    older = older.replace(b'"reported"', b'"told"').replace(b'"batches_unreported"', b'"batches_untold"')
    reading = {"judged": 8, "trained": 4, "told_drifting": True, "batches": 2, "watch": older}
    tuned = Tuned("d", "v1", 8, "v1", answers=True, samples=3, version_accuracy=0.5, own_accuracy=0.75, reported=True)
    Database(home.database).close()
    with closing(sqlite3.connect(home.database)) as connection:
        teach_sqlite(connection)
        rows = {
            "reading": msgspec.json.encode(reading),
            "tuned": msgspec.json.encode(tuned).replace(b'"reported"', b'"told"'),
        }
        for name, content in rows.items():
            connection.execute("INSERT INTO peers VALUES (?1, ?2, seal(?1, ?2))", (name, content))
        make_older(connection, before=_SCHEMAS.index(_REPORTED))
        connection.commit()
    with open_store(home) as store:
        found = store.peers.reading()
        assert found is not None
        assert (found.judged, found.reported_drifting, found.batches) == (8, True, 2)
        after = msgspec.json.decode(found.watch, type=DriftWatch)
        assert (after.reported, after.batches_unreported) == ((1, 2, 3), 4)
        assert store.peers.tuned() == tuned


def test_a_row_that_the_disk_has_changed_gets_no_new_seal(home: Home) -> None:
    home.create()
    Database(home.database).close()
    with closing(sqlite3.connect(home.database)) as connection:
        connection.execute("INSERT INTO peers VALUES ('reading', ?, ?)", (b'{"judged":8,"trained":4}', bytes(8)))
        make_older(connection, before=_SCHEMAS.index(_REPORTED))
        connection.commit()
    with open_store(home) as store:
        assert store.peers.reading() is None


def test_a_newer_store_is_left_alone(home: Home) -> None:
    home.create()
    Database(home.database).close()
    with closing(sqlite3.connect(home.database)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(AgentError, match="newer agent"):
        Database(home.database)


def test_a_verdict_and_the_model_that_it_changes_are_one_step(store: Store) -> None:
    store.peers.adopt(PersonalTensors("v1", b"before"))
    store.peers.ask(ASK, Reading(judged=8, trained=4))
    keep(store, "t-1")
    assert store.peers.personal() == ("v1", 2)
    assert store.peers.personal_tensors() == b"tensors"
    assert store.peers.verdict() is not None
    store.peers.end_request("kept", "it helped", now=1.0)
    assert (store.peers.open_request(), store.peers.verdict()) == (None, None)
    assert store.peers.has_ended(ASK.request)
    assert store.peers.reading() == Reading(judged=8, trained=4)


def test_portions_start_one_update_that_counts_and_no_other(store: Store, work_in_hand: str) -> None:
    keep(store, "t-1")
    keep(store, "t-2")
    first = store.peers.portions_for(work_in_hand)
    assert [portion.transfer for portion in first] == ["t-1", "t-2"]
    keep(store, "t-3")
    assert store.peers.portions_for(work_in_hand) == first, "an assignment that goes on starts from the same"
    store.work.finish("dropped", "", now=1.0)
    assert len(store.peers.portions_for("another")) == 3, "an update that did not count took nothing with it"


def test_what_an_accepted_update_carried_is_not_carried_again(store: Store, work_in_hand: str) -> None:
    keep(store, "t-1")
    store.peers.portions_for(work_in_hand)
    keep(store, "t-2")
    store.work.finish("accepted", "", now=1.0)
    assert [portion.transfer for portion in store.peers.portions_for("another")] == ["t-2"]


def test_a_portion_under_way_is_read_in_pieces(store: Store) -> None:
    store.peers.serve(OfferPortion("t-9", "0" * 64, 10), b"0123456789")
    assert [store.peers.read_served(offset, 4) for offset in (0, 4, 8, 12)] == [b"0123", b"4567", b"89", b""]
    store.peers.end_serving("t-9", "served", "done", now=1.0)
    assert store.peers.serving() is None


def test_where_nothing_stands_the_model_stays(store: Store) -> None:
    store.peers.adopt(PersonalTensors("v1", b"tensors"))
    store.peers.ask(ASK, Reading(judged=8, trained=4))
    store.peers.remove_plan()
    assert (store.peers.open_request(), store.peers.reading()) == (None, None)
    assert store.peers.personal() == ("v1", 1)
