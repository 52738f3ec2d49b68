"""Whatever happens between, a console that comes back knows the same as one that stayed."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.gateway.console.frames import (
    AnyServerFrame,
    Changed,
    ClientFrame,
    Documents,
    Hello,
    RepairsDocument,
    Snapshot,
    apply,
)
from coterie.gateway.console.mirror import KEPT_EVENTS, Mirror

STATES = st.lists(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3)), min_size=1, max_size=12)


def documents(state: dict[str, int]) -> list[RepairsDocument]:
    return [RepairsDocument(id=name, count=count) for name, count in state.items()]


@given(states=STATES, left_after=st.integers(0, 11))
def test_who_comes_back_knows_what_who_stayed_knows(states: list[dict[str, int]], left_after: int) -> None:
    mirror = Mirror("epoch")
    stayed: Documents = apply({}, mirror.snapshot())
    gone, number = stayed, 0
    for step, state in enumerate(states):
        for event in mirror.take(("repairs",), documents(state)):
            stayed = apply(stayed, event)
        if step == left_after:
            gone, number = stayed, mirror.number
    missed = mirror.since("epoch", number)
    assert missed is not None
    for event in missed:
        gone = apply(gone, event)
    assert gone == stayed == apply({}, mirror.snapshot()) == {doc.key: doc for doc in documents(states[-1])}


def test_what_is_of_another_epoch_or_too_long_ago_needs_a_snapshot() -> None:
    mirror = Mirror("epoch")
    for count in range(KEPT_EVENTS + 1):
        mirror.take(("repairs",), documents({"a": count}))
    assert mirror.since("another", 0) is None
    assert mirror.since("epoch", KEPT_EVENTS + 2) is None
    assert mirror.since("epoch", 0) is None
    assert len(mirror.since("epoch", 1) or []) == KEPT_EVENTS
    assert mirror.since("epoch", KEPT_EVENTS + 1) == []


def test_other_kinds_are_left_alone() -> None:
    mirror = Mirror("epoch")
    mirror.take(("repairs",), documents({"a": 1}))
    assert mirror.take(("job",), []) == []
    assert len(mirror.documents) == 1


def test_frames_survive_the_line_and_unknown_fields_are_refused() -> None:
    frames = [Snapshot(2, "epoch", (RepairsDocument("a", 1),)), Changed(3, RepairsDocument("a", 2))]
    for frame in frames:
        assert msgspec.json.decode(msgspec.json.encode(frame), type=AnyServerFrame) == frame
    text = b'{"frame":"hello","epoch":"e","number":3}'
    assert msgspec.json.decode(text, type=ClientFrame) == Hello("e", 3)
    for bad in (b'{"frame":"hello","colour":1}', b'{"frame":"watch","devices":["x"]}'):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(bad, type=ClientFrame)
