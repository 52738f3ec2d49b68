"""Periodic work rests until time alone may give it something to do, or a row is changed."""

import pytest

from coterie.core import resting
from coterie.core.resting import LONGEST_S, Changes, Rests, is_unremarkable, unremarkable


@pytest.fixture
def moments(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The latest of which it is now."""
    moments = [100.0]
    monkeypatch.setattr(resting.time, "monotonic", lambda: moments[-1])
    return moments


def test_what_has_said_nothing_does_not_rest(moments: list[float]) -> None:
    assert not Rests(Changes()).is_on("sweep")


def test_a_rest_is_over_after_its_time(moments: list[float]) -> None:
    rests = Rests(Changes())
    rests.begin("sweep", 7.0, seen=0)
    moments.append(106.9)
    assert rests.is_on("sweep") and not rests.is_on("another")
    moments.append(107.0)
    assert not rests.is_on("sweep")


def test_none_is_longer_than_what_another_process_does_may_wait(moments: list[float]) -> None:
    rests = Rests(Changes())
    rests.begin("sweep", 1e9, seen=0)
    moments.append(100.0 + LONGEST_S)
    assert not rests.is_on("sweep")


def test_a_change_ends_every_rest_and_no_rest_begins_that_has_not_seen_it(moments: list[float]) -> None:
    changes = Changes()
    rests = Rests(changes)
    rests.begin("sweep", 7.0, seen=changes.count)
    changes.note()
    assert not rests.is_on("sweep")
    rests.begin("sweep", 7.0, seen=changes.count - 1)  # it was made while the sweep looked
    assert not rests.is_on("sweep")
    rests.begin("sweep", 7.0, seen=changes.count)
    assert rests.is_on("sweep")


def test_what_is_unremarkable_ends_with_its_block() -> None:
    with unremarkable():
        assert is_unremarkable()
    assert not is_unremarkable()
