"""Neighbour search: exactly the devices that qualify, in the right order, whatever came and went before."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from coterie_learning.help.cartel import Cartel
from coterie_learning.neighbours import Match, Neighbour, NeighbourIndex, Wanted
from coterie_learning.profile import Counts, jensen_shannon
from coterie_learning.unmatched import UnmatchedTensors, no_helper_reason

CLASSES = 4
CARTEL = Cartel(largest_divergence=0.4, helper_recall=0.7, helper_error=0.3, serves_at_once=2)
EVEN = np.array([1, 1, 1, 0]) / 3
EACH = [4, 4, 4, 0]
"""Samples of a device in need, whose class shares are `EVEN`."""


def counts(samples: list[int], wrong: list[int] | None = None) -> Counts:
    return Counts(np.array(samples), np.array(wrong or [0] * len(samples)))


def needy(*troubled: int, wrong: list[int] = EACH) -> Wanted:
    """A device in need of help with `troubled`, that has everything wrong unless something else is said."""
    return Wanted(counts(EACH, wrong), troubled)


def index_of(**neighbours: Neighbour) -> NeighbourIndex:
    index = NeighbourIndex(CLASSES)
    for device, neighbour in neighbours.items():
        index.put(device, neighbour)
    return index


def expected(known: dict[str, Neighbour], wanted: Wanted, exclude: set[str]) -> dict[str, float]:
    """Who can help, and how far each is: the same search, device by device."""
    return {
        device: divergence
        for device, neighbour in known.items()
        if device not in exclude
        and neighbour.willing
        and not neighbour.drifting
        and neighbour.serving < CARTEL.serves_at_once
        and neighbour.counts.error <= min(CARTEL.helper_error, wanted.counts.error)
        and all(neighbour.counts.recall()[label] >= CARTEL.helper_recall for label in wanted.troubled)
        and all(
            neighbour.counts.recall()[label] > np.nan_to_num(wanted.counts.recall()[label]) for label in wanted.troubled
        )
        and (divergence := jensen_shannon(wanted.counts.prior(), neighbour.counts.prior())) <= CARTEL.largest_divergence
    }


def test_the_nearest_that_does_well_comes_first() -> None:
    index = index_of(
        far=Neighbour(counts([0, 1, 1, 9])),
        near=Neighbour(counts([5, 5, 5, 0])),
        nearer=Neighbour(counts([3, 3, 4, 0])),
        unlike=Neighbour(counts([0, 0, 1, 99])),
        ignorant=Neighbour(counts([5, 5, 0, 0])),
        failing=Neighbour(counts([5, 5, 5, 0], [0, 0, 4, 0])),
    )
    found = index.search(needy(2), CARTEL, limit=9)
    assert [match.device for match in found] == ["near", "nearer"]
    assert found[0] == Match("near", pytest.approx(0, abs=1e-6))
    assert found[1].divergence == pytest.approx(jensen_shannon(EVEN, np.array([0.3, 0.3, 0.4, 0])), abs=1e-6)


def test_the_nearest_are_found_whether_they_can_help_or_not() -> None:
    index = index_of(
        own=Neighbour(counts([1, 1, 1, 0])),
        drifting=Neighbour(counts([5, 5, 5, 0]), drifting=True),
        unlike=Neighbour(counts([0, 0, 1, 99])),
        untold=Neighbour(counts([0, 0, 0, 0])),
        nearer=Neighbour(counts([3, 3, 4, 0], [3, 3, 4, 0]), willing=False),
    )
    found = index.nearest(EVEN, limit=9, exclude={"own"})
    assert [match.device for match in found] == ["drifting", "nearer", "unlike"]
    assert [match.device for match in index.nearest(EVEN, limit=1)] == ["drifting"], "the first by name of two alike"
    with pytest.raises(ValueError, match="prior of shape"):
        index.nearest(EVEN[:2], limit=1)


@pytest.mark.parametrize(
    "changed",
    [
        {"drifting": True},
        {"serving": 2},
        {"willing": False},
        {"counts": counts([9, 9, 9, 0], [9, 0, 0, 0])},
        {"counts": counts([0, 0, 0, 0])},
    ],
    ids=["drifting", "busy", "unwilling", "does badly elsewhere", "knows nothing"],
)
def test_who_cannot_help_is_not_asked(changed: dict[str, object]) -> None:
    neighbour = Neighbour(counts([5, 5, 5, 0]))
    assert index_of(one=neighbour).search(needy(2), CARTEL, limit=1)
    assert not index_of(one=neighbour._replace(**changed)).search(needy(2), CARTEL, limit=1)


def test_who_does_badly_on_one_of_the_classes_is_not_asked_and_who_serves_fewer_comes_first() -> None:
    index = index_of(
        half=Neighbour(counts([5, 5, 5, 0], [0, 2, 0, 0])),
        busy=Neighbour(counts([6, 5, 5, 0]), serving=1),
        b=Neighbour(counts([6, 5, 5, 0])),
        a=Neighbour(counts([6, 5, 5, 0])),
    )
    found = index.search(needy(1, 2), CARTEL, limit=9)
    assert [match.device for match in found] == ["a", "b", "busy"]
    assert [match.device for match in index.search(needy(1, 2), CARTEL, limit=1)] == ["a"]
    assert [match.device for match in index.search(needy(1, 2), CARTEL, limit=1, exclude={"a", "x"})] == ["b"]


def test_a_helper_does_better_than_who_asks_however_hard_the_task() -> None:
    index = index_of(one=Neighbour(counts([8, 8, 8, 0], [4, 4, 2, 0])))
    loose = msgspec.structs.replace(CARTEL, helper_recall=0.0, helper_error=1.0)
    for wrong, helps in (([4, 4, 4, 0], True), ([1, 1, 4, 0], True), ([0, 0, 4, 0], False), ([4, 4, 1, 0], False)):
        assert bool(index.search(needy(2, wrong=wrong), loose, limit=1)) is helps, wrong
    assert not index.search(needy(2), CARTEL, limit=1), "the plan's limits hold besides"


def test_why_nobody_qualifies_is_told_in_counts() -> None:
    index = index_of(
        asks=Neighbour(counts(EACH)),
        ignorant=Neighbour(counts([5, 5, 0, 0])),
        another=Neighbour(counts([5, 0, 0, 0])),
        drifting=Neighbour(counts([5, 5, 5, 0]), drifting=True),
        unwilling=Neighbour(counts([5, 5, 5, 0]), willing=False),
        poor=Neighbour(counts([5, 5, 5, 0], [0, 0, 4, 0])),
        unlike=Neighbour(counts([0, 0, 1, 99])),
        busy=Neighbour(counts([5, 5, 5, 0]), serving=2),
        silent=Neighbour(counts([0, 0, 0, 0])),
    )
    found = index.unfit(needy(2), CARTEL, exclude={"asks"})
    assert found == UnmatchedTensors(ignorant=2, unwilling=1, drifting=1, no_better=1, unlike=1, busy=1)
    reason = no_helper_reason(found, (2,), tried=0)
    assert reason.code == "transfer.no_neighbour"
    assert reason.sentence == (
        "7 other devices tell about their data, none can help with class 2: 2 without samples of it, "
        "1 no better than this device, 1 failing too, 1 with too different data, 1 unwilling, 1 busy"
    )
    alone = no_helper_reason(index_of().unfit(needy(1, 2), CARTEL), (1, 2), tried=0)
    assert alone.sentence == "no other device tells about its data, so none can help with classes 1, 2"
    left = no_helper_reason(UnmatchedTensors(0, 0, 0, 0, 0, 0), (1,), tried=3)
    assert left.sentence == "no other device is left to ask, so none can help with class 1; 3 tried already"


def test_an_empty_index_finds_nobody() -> None:
    assert NeighbourIndex(CLASSES).search(needy(1), CARTEL, limit=3) == ()


def test_another_number_of_classes_is_refused() -> None:
    with pytest.raises(ValueError, match="3 classes"):
        NeighbourIndex(CLASSES).put("a", Neighbour(counts([1, 1, 1])))
    with pytest.raises(ValueError, match="shape"):
        NeighbourIndex(CLASSES).search(Wanted(counts([1, 1, 1]), (1,)), CARTEL, limit=1)


small = st.lists(st.integers(0, 9), min_size=CLASSES, max_size=CLASSES)
neighbours = st.builds(
    lambda samples, right, drifting, serving, willing: Neighbour(
        counts(samples, [min(a, b) for a, b in zip(samples, right, strict=True)]), drifting, serving, willing
    ),
    small,
    st.lists(st.integers(0, 3), min_size=CLASSES, max_size=CLASSES),
    st.booleans(),
    st.integers(0, 2),
    st.booleans(),
)


class Kept(RuleBasedStateMachine):
    """Whatever comes, changes and goes, a search finds what looking at every device finds."""

    def __init__(self) -> None:
        super().__init__()
        self.index = NeighbourIndex(CLASSES)
        self.known: dict[str, Neighbour] = {}

    @rule(device=st.sampled_from("abcdefgh"), neighbour=neighbours)
    def put(self, device: str, neighbour: Neighbour) -> None:
        self.index.put(device, neighbour)
        self.known[device] = neighbour

    @rule(device=st.sampled_from("abcdefgh"))
    def remove(self, device: str) -> None:
        self.index.remove(device)
        self.known.pop(device, None)

    @rule(
        samples=small.filter(any),
        right=small,
        troubled=st.sets(st.integers(0, CLASSES - 1), min_size=1),
        excluded=st.sets(st.sampled_from("ab")),
    )
    def search(self, samples: list[int], right: list[int], troubled: set[int], excluded: set[str]) -> None:
        wrong = [max(0, all_ - one) for all_, one in zip(samples, right, strict=True)]
        asked = Wanted(counts(samples, wrong), tuple(sorted(troubled)))
        found = self.index.search(asked, CARTEL, limit=5, exclude=excluded)
        wanted = expected(self.known, asked, excluded)
        assert len(found) == min(5, len(wanted))
        unfit = self.index.unfit(asked, CARTEL, exclude=excluded)
        told = [one for device, one in self.known.items() if device not in excluded and one.counts.samples.any()]
        assert unfit.devices == len(told) - len(wanted), "each that has told something helps, or it is said why not"
        # Divergences that differ in the sixth digit may change places.
        nearest = sorted(wanted.values())[: len(found)]
        assert [match.divergence for match in found] == pytest.approx(nearest, abs=1e-5)
        assert {match.device: match.divergence for match in found} == pytest.approx(
            {match.device: wanted[match.device] for match in found}, abs=1e-5
        )

    @invariant()
    def as_many_as_are_known(self) -> None:
        assert len(self.index) == len(self.known)


TestKept = Kept.TestCase
TestKept.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


@given(limit=st.integers(1, 5))
@settings(max_examples=5)
def test_many_equals_are_taken_in_the_order_of_their_names(limit: int) -> None:
    index = NeighbourIndex(CLASSES)
    for number in np.random.default_rng(limit).permutation(200).tolist():
        index.put(f"d{number:03}", Neighbour(counts([1, 1, 1, 0])))
    loose = msgspec.structs.replace(CARTEL, helper_recall=0.0)
    found = index.search(needy(0), loose, limit=limit)
    assert [match.device for match in found] == [f"d{number:03}" for number in range(limit)]
