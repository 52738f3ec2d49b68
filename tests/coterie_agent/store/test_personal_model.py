"""The personal model and the one before it: a version that was rolled back takes with it what went on from it."""

import msgspec
import pytest

from coterie_agent.store.opened import Store
from coterie_agent.store.peers import KeptPortion
from coterie_agent.store.personal_model import PersonalTensors
from coterie_agent.store.work import Spooled
from coterie_wire.helping import GiveVerdict
from coterie_wire.messages import Assignment, OfferUpdate
from tests.coterie_agent.bundles import Bundle


@pytest.fixture
def went_on(store: Store) -> Store:
    """A device that had a personal model of version 4, and has since gone on from version 5."""
    store.peers.adopt(PersonalTensors("v4", b"of four"))
    store.peers.adopt(PersonalTensors("v4", b"learned under four"))
    store.peers.adopt(PersonalTensors("v5", b"learned under four"))
    store.peers.adopt(PersonalTensors("v5", b"learned under five"))
    return store


def test_it_is_again_what_it_was_before_the_version_came(went_on: Store) -> None:
    before = went_on.peers.personal()
    assert before is not None
    assert went_on.peers.undo_personal_of({"v5"})
    assert went_on.peers.personal() == ("v4", before.edition + 1), (
        "whoever has read the model before has to read it again"
    )
    assert went_on.peers.personal_tensors() == b"learned under four"
    assert not went_on.peers.undo_personal_of({"v5"}), "told again, nothing happens"


def test_where_that_was_rolled_back_too_nothing_is_left_of_it(went_on: Store) -> None:
    assert went_on.peers.undo_personal_of({"v5", "v4"})
    assert (went_on.peers.personal(), went_on.peers.personal_tensors()) == (None, None)


def test_a_device_that_began_with_the_version_begins_anew(store: Store) -> None:
    store.peers.adopt(PersonalTensors("v5", b"of five"))
    assert store.peers.undo_personal_of({"v5"})
    assert store.peers.personal() is None


def test_other_versions_do_not_touch_it(went_on: Store) -> None:
    assert not went_on.peers.undo_personal_of({"v3", "v6"})
    assert went_on.peers.personal_tensors() == b"learned under five"
    assert not went_on.peers.undo_personal_of({"v4"}), "what it has learned since stays"


def test_what_helped_it_since_goes_too(went_on: Store) -> None:
    before = went_on.peers.personal()
    assert before is not None
    kept = KeptPortion("t-1", b"{}", (2,), b"bytes")
    went_on.peers.judge(GiveVerdict("t-1", True, 0.5, 0.9, 8), kept, before=before, tensors=b"helped")
    went_on.peers.undo_personal_of({"v5"})
    assert went_on.peers.portions_for("another") == ()


def test_a_round_that_ends_on_the_version_later_does_not_bring_it_back(went_on: Store, bundle: Bundle) -> None:
    went_on.work.accept(Assignment("a1", "digits", 1, msgspec.Raw(b"{}"), bundle.signed, 11, 60.0))
    went_on.peers.undo_personal_of({"v5"})
    offer = OfferUpdate("a1", "0" * 64, 6, 4, 1, 2, 1.0, 0.5, 0.25, 0.1)
    went_on.work.spool(Spooled(offer, "digits", b"", {}), own=PersonalTensors("v5", b"of the round"))
    assert went_on.peers.undo_personal_of({"v5"})
    assert went_on.peers.personal_tensors() == b"learned under four"
