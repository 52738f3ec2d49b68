"""The bound of norms, beside the laws that every merge keeps."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.norm_bound import NormBound
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded, tallied

BASE = {"w": np.zeros(2, np.float32)}


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def test_what_is_longer_than_the_median_is_scaled_down_to_it() -> None:
    """Norms of 5, 10 and 40: the last counts a quarter, and the sum is divided by three."""
    updates = [of(3, 4), of(6, 8), of(-40, 0)]
    np.testing.assert_allclose(folded(NormBound(), BASE, updates).parameters["w"], [-1 / 3, 4], rtol=1e-6)
    found = tallied(NormBound(), updates)
    assert [ballot.weight for ballot in found.ballots] == [1, 1, 0.25]
    assert [ballot.distance for ballot in found.ballots] == [5, 10, 40]
    assert (found.weights, found.divisor) == ([4, 4, 1], 12)


def test_below_the_bound_it_is_the_uniform_mean() -> None:
    """The degenerate case."""
    updates = [of(1, 2), of(2, 0), of(3, 7)]
    mean = folded(FedAvg(weight_by="uniform"), BASE, updates).parameters["w"]
    np.testing.assert_array_equal(folded(NormBound(times_median=10), BASE, updates).parameters["w"], mean)


def test_one_update_is_taken_as_it_is() -> None:
    assert folded(NormBound(), BASE, [of(1, -2)], [7]).parameters["w"].tolist() == [1, -2]


@given(scale=st.floats(1, 60), claim=st.integers(1, 2**52))
def test_one_of_five_moves_the_mean_by_no_more_than_a_fifth_of_the_median_norm(scale: float, claim: int) -> None:
    updates = [of(1, 0), of(0, 1), of(-1, 0), of(0, -1), of(scale, scale)]
    found = folded(NormBound(), BASE, updates, [10] * 4 + [claim]).parameters["w"]
    assert np.linalg.norm(found) <= 0.2 * (1 + 1e-4)


def test_where_most_send_nothing_nobody_is_heard() -> None:
    """A negative control: the median norm is zero."""
    assert folded(NormBound(), BASE, [of(0, 0), of(0, 0), of(0, 0), of(1, 1)]).parameters["w"].tolist() == [0, 0]


def test_who_stays_below_the_bound_lies_unhindered() -> None:
    """The negative control: attackers of the usual length take their share, which a median would not give them."""
    said, lies = [of(1, 0)] * 3, [of(-1, 0)] * 2
    np.testing.assert_allclose(folded(NormBound(), BASE, [*said, *lies]).parameters["w"], [0.2, 0], atol=1e-6)
