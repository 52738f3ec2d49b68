"""Durable steps and leases: of all who try, one succeeds, and everybody sees the same."""

from datetime import timedelta
from uuid import uuid4

import pytest

from coterie.core.durable import Steps
from coterie.core.lease import LEASE, extend_lease, free, take_lease
from coterie.merging.asking import request_merge
from coterie.merging.models import Merge, Update
from coterie_wire.conditions import Reason
from tests.coterie.world import START, later, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db
STEPS = Steps(Merge, ways={"running": frozenset({"abandoned"}), "abandoned": frozenset()}, app="rounds")
WHY = Reason("test.why", "so that")


@pytest.fixture
def merge() -> Merge:
    pair = make_pair()
    version = make_version(pair)
    federation = make_federation(pair)
    updates = Update.objects.none()
    return request_merge(
        federation=federation, number=1, plan={}, seed=1, base_version=version, updates=updates, fleet=0, now=START
    )


def abandon(row: Merge) -> bool:
    return STEPS.take(row, "abandoned", reason=WHY, finished_at=later(1))


def test_one_of_two_who_read_the_same_state_takes_the_step(merge: Merge) -> None:
    late = Merge.objects.get()
    assert abandon(merge)
    assert (merge.state, merge.reason(), merge.finished_at) == ("abandoned", WHY, later(1))
    assert not STEPS.take(late, "abandoned", reason=Reason("test.late", "too late"), finished_at=later(2))
    assert (late.state, late.reason(), late.finished_at) == ("abandoned", WHY, later(1)), "it is told what holds now"


def test_a_way_that_there_is_not_is_a_fault_of_the_program(merge: Merge) -> None:
    assert abandon(merge)
    with pytest.raises(AssertionError, match="does not go from abandoned to running"):
        STEPS.take(merge, "running", reason=None)


def test_a_reason_is_written_where_it_has_changed_and_cut_to_what_is_kept(merge: Merge) -> None:
    assert STEPS.explain(merge, WHY)
    assert not STEPS.explain(merge, WHY)
    assert STEPS.explain(merge, Reason("test.long", "x" * 1000))
    merge.refresh_from_db()
    assert merge.reason_sentence == "x" * 400


def test_a_reason_is_not_written_on_what_has_moved_on(merge: Merge) -> None:
    late = Merge.objects.get()
    assert abandon(merge)
    assert not STEPS.explain(late, Reason("test.late", "too late"))
    assert Merge.objects.get().reason() == WHY


def test_a_lease_is_held_by_one_until_it_ends(merge: Merge) -> None:
    mine, other, rows = uuid4(), uuid4(), Merge.objects.filter(pk=merge.pk)
    assert take_lease(rows, lease=mine, now=START)
    assert not take_lease(rows, lease=other, now=START + LEASE)
    assert extend_lease(rows, lease=mine, now=START + LEASE)
    over = START + 2 * LEASE + timedelta(seconds=1)
    assert rows.filter(free(over)).exists()
    assert take_lease(rows, lease=other, now=over)
    assert not extend_lease(rows, lease=mine, now=over), "who comes back late finds that it is another's"
    assert Merge.objects.get().attempts == 2
