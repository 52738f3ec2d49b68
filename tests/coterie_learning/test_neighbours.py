"""Neighbour search: exactly the devices that qualify, in the right order, whatever came and went before."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from coterie_learning.help.cartel import Cartel
from coterie_learning.neighbours import Match, Neighbour, NeighbourIndex
from coterie_learning.profile import Counts, jensen_shannon

CLASSES = 4
CARTEL = Cartel(largest_divergence=0.4, helper_recall=0.7, helper_error=0.3, serves_at_once=2)
EVEN = np.array([1, 1, 1, 0]) / 3


def counts(samples: list[int], wrong: list[int] | None = None) -> Counts:
    return Counts(np.array(samples), np.array(wrong or [0] * len(samples)))


def index_of(**neighbours: Neighbour) -> NeighbourIndex:
    index = NeighbourIndex(CLASSES)
    for device, neighbour in neighbours.items():
        index.put(device, neighbour)
    return index


def expected(
    known: dict[str, Neighbour], prior: np.ndarray, troubled: tuple[int, ...], exclude: set[str]
) -> dict[str, float]:
    """Who can help, and how far each is: the same search, device by device."""
    return {
        device: divergence
        for device, neighbour in known.items()
        if device not in exclude
        and neighbour.willing
        and not neighbour.drifting
        and neighbour.serving < CARTEL.serves_at_once
        and neighbour.counts.error <= CARTEL.helper_error
        and all(neighbour.counts.recall()[label] >= CARTEL.helper_recall for label in troubled)
        and (divergence := jensen_shannon(prior, neighbour.counts.prior())) <= CARTEL.largest_divergence
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
    found = index.search(EVEN, (2,), CARTEL, limit=9)
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
    assert index_of(one=neighbour).search(EVEN, (2,), CARTEL, limit=1)
    assert not index_of(one=neighbour._replace(**changed)).search(EVEN, (2,), CARTEL, limit=1)


def test_who_does_badly_on_one_of_the_classes_is_not_asked_and_who_serves_fewer_comes_first() -> None:
    index = index_of(
        half=Neighbour(counts([5, 5, 5, 0], [0, 2, 0, 0])),
        busy=Neighbour(counts([6, 5, 5, 0]), serving=1),
        b=Neighbour(counts([6, 5, 5, 0])),
        a=Neighbour(counts([6, 5, 5, 0])),
    )
    found = index.search(EVEN, (1, 2), CARTEL, limit=9)
    assert [match.device for match in found] == ["a", "b", "busy"]
    assert [match.device for match in index.search(EVEN, (1, 2), CARTEL, limit=1)] == ["a"]
    assert [match.device for match in index.search(EVEN, (1, 2), CARTEL, limit=1, exclude={"a", "x"})] == ["b"]


def test_an_empty_index_finds_nobody() -> None:
    assert NeighbourIndex(CLASSES).search(EVEN, (1,), CARTEL, limit=3) == ()


def test_another_number_of_classes_is_refused() -> None:
    with pytest.raises(ValueError, match="3 classes"):
        NeighbourIndex(CLASSES).put("a", Neighbour(counts([1, 1, 1])))
    with pytest.raises(ValueError, match="shape"):
        NeighbourIndex(CLASSES).search(np.ones(3), (1,), CARTEL, limit=1)


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
        prior=small.filter(any),
        troubled=st.sets(st.integers(0, CLASSES - 1), min_size=1),
        excluded=st.sets(st.sampled_from("ab")),
    )
    def search(self, prior: list[int], troubled: set[int], excluded: set[str]) -> None:
        shares = np.array(prior) / sum(prior)
        asked = tuple(sorted(troubled))
        found = self.index.search(shares, asked, CARTEL, limit=5, exclude=excluded)
        wanted = expected(self.known, shares, asked, excluded)
        assert len(found) == min(5, len(wanted))
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
    found = index.search(EVEN, (0,), loose, limit=limit)
    assert [match.device for match in found] == [f"d{number:03}" for number in range(limit)]
