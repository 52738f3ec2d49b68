"""Krum and multi-Krum, beside the laws that every merge keeps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.krum import Krum
from coterie_learning.plan import parse_plan, read_plan
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded, tallied

BASE = {"w": np.zeros(2, np.float32)}


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


LINE = [of(0, 0), of(1, 0), of(2, 0), of(4, 0), of(64, 0)]
"""With f = 1 each has the sum to its two nearest: 1 + 4, 1 + 1, 1 + 4, 4 + 9 and 3600 + 3844."""


def test_the_sums_of_squared_distances_by_hand() -> None:
    found = tallied(Krum(), LINE)
    assert [ballot.distance for ballot in found.ballots] == [
        math.sqrt(total / 2) for total in (1 + 4, 1 + 1, 1 + 4, 4 + 9, 60**2 + 62**2)
    ]
    assert (found.weights, found.divisor) == ([1, 1, 1, 1, 0], 4)
    assert [ballot.weight for ballot in found.ballots] == [1.25, 1.25, 1.25, 1.25, 0]


def test_krum_takes_the_best_and_multi_krum_the_mean_of_all_but_f() -> None:
    assert folded(Krum(merges="best"), BASE, LINE).parameters["w"].tolist() == [1, 0]
    assert folded(Krum(), BASE, LINE).parameters["w"].tolist() == [1.75, 0]


@given(seed=st.integers(0, 2**32), count=st.integers(1, 12))
def test_where_nobody_is_corrupted_it_is_the_uniform_mean(seed: int, count: int) -> None:
    """The degenerate case."""
    updates = [{"w": row} for row in np.random.default_rng(seed).standard_normal((count, 2)).astype(np.float32)]
    mean = folded(FedAvg(weight_by="uniform"), BASE, updates).parameters["w"]
    np.testing.assert_array_equal(folded(Krum(corrupted=0), BASE, updates).parameters["w"], mean)


def test_one_update_is_taken_as_it_is() -> None:
    for kind in (Krum(), Krum(merges="best")):
        assert folded(kind, BASE, [of(1, -2)], [7]).parameters["w"].tolist() == [1, -2]


def test_each_others_nearest_are_both_taken_in_either_order() -> None:
    updates = [of(0, 0), of(2, 0), of(90, 0), of(-70, 0)]
    for order in (updates, updates[::-1]):
        assert folded(Krum(corrupted=0.25, merges="best"), BASE, order).parameters["w"].tolist() == [1, 0]


@given(seed=st.integers(0, 2**32), lie=st.floats(-60, 60, width=32), claim=st.integers(1, 2**52))
def test_a_fifth_that_lie_far_away_have_no_effect(seed: int, lie: float, claim: int) -> None:
    matrix = np.random.default_rng(seed).uniform(-0.5, 0.5, (8, 2)).astype(np.float32)
    said = [{"w": row} for row in matrix]
    lies = [of(64 + lie, lie), of(64 + lie, -lie)]
    found = folded(Krum(), BASE, [*lies, *said], [claim] * 2 + [10] * 8).parameters["w"]
    np.testing.assert_array_equal(found, folded(Krum(corrupted=0), BASE, said).parameters["w"])


def test_what_only_a_few_devices_know_is_lost() -> None:
    """The negative control: where data are unlike, who knows a class of his own lies far from the others."""
    updates = [of(0, 1), *[of(0.01 * number, 0) for number in range(9)]]
    assert folded(Krum(), BASE, updates).parameters["w"][1] == 0
    assert folded(FedAvg(), BASE, updates).parameters["w"][1] > 0.05


def test_attackers_who_agree_and_are_more_than_it_bears_win() -> None:
    """The other negative control: four of ten go a little backwards together, which is near to everybody."""
    said = 0.5 + np.random.default_rng(0).standard_normal((6, 50)).astype(np.float32)
    lie = -0.1 * said.mean(axis=0)
    base = {"w": np.zeros(50, np.float32)}
    found = folded(Krum(corrupted=0.3, merges="best"), base, [{"w": row} for row in [*said, *[lie] * 4]])
    np.testing.assert_allclose(found.parameters["w"], lie, atol=1e-6)


@pytest.mark.parametrize(
    ("corrupted", "least", "most", "fits"),
    [(0.2, 3, 10, True), (0.2, 2, 10, False), (0.35, 7, 10, True), (0.35, 6, 10, False), (0.4, 7, 8, False)],
)
def test_a_round_has_more_than_twice_as_many_updates_as_may_be_corrupted(
    corrupted: float, least: int, most: int, fits: bool
) -> None:
    plan = {
        "pace": {"kind": "sync", "min_updates": least, "target_updates": most},
        "merge": {"kind": "krum", "corrupted": corrupted},
    }
    found = [misfit.reason.code for misfit in read_plan(plan).misfits(None, None)]
    assert found == ([] if fits else ["merge.too_few_updates"])
    if not fits:
        with pytest.raises(WireError, match="krum needs more than"):
            parse_plan(plan)


def test_more_than_are_compared_are_refused() -> None:
    pace = {"kind": "sync", "min_updates": 3, "target_updates": 2001}
    plan = read_plan({"pace": pace, "merge": {"kind": "krum"}})
    assert [misfit.reason.code for misfit in plan.misfits(None, None)] == ["plan.too_many_updates"]
