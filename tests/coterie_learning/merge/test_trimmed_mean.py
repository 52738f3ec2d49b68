"""The trimmed mean, beside the laws that every merge keeps."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.trimmed_mean import TrimmedMean
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded

BASE = {"w": np.zeros(3, np.float32)}


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def test_each_parameter_loses_extremes_of_its_own() -> None:
    updates = [of(1, 0, 90), of(2, 1, 2), of(3, 2, 3), of(6, 3, 4), of(90, -90, 3)]
    found = folded(TrimmedMean(share=0.2), BASE, updates).parameters["w"]
    np.testing.assert_allclose(found, [11 / 3, 1, 10 / 3], rtol=1e-7)


def test_without_a_share_it_is_the_uniform_mean() -> None:
    """The degenerate case, and the same where the share of so few is none."""
    updates = [of(1, 2, 3), of(2, 0, 5), of(3, 7, 1)]
    mean = folded(FedAvg(weight_by="uniform"), BASE, updates).parameters["w"]
    for share in (0, 0.3):
        np.testing.assert_array_equal(folded(TrimmedMean(share=share), BASE, updates).parameters["w"], mean)


def test_one_update_is_taken_as_it_is() -> None:
    assert folded(TrimmedMean(), BASE, [of(1, -2, 3)], [7]).parameters["w"].tolist() == [1, -2, 3]


@given(seed=st.integers(0, 2**32), count=st.integers(1, 40), block=st.integers(1, 50))
def test_in_blocks_it_has_every_bit_of_numpy_on_the_whole_matrix(seed: int, count: int, block: int) -> None:
    matrix = np.random.default_rng(seed).standard_normal((count, 50)).astype(np.float32)
    dropped = int(0.2 * count)
    kept = np.sort(matrix, axis=0)[dropped : count - dropped].astype(np.float64)
    expected = (np.cumsum(kept, axis=0)[-1] / len(kept)).astype(np.float32)
    found = folded(TrimmedMean(), {"w": np.zeros(50, np.float32)}, [{"w": row} for row in matrix], block=block)
    assert found.parameters["w"].tobytes() == expected.tobytes()


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(5, 20),
    claim=st.integers(1, 2**52),
    lie=st.floats(-100, 100, width=32),
)
def test_a_fifth_cannot_leave_what_the_others_say(seed: int, count: int, claim: int, lie: float) -> None:
    hostile = count // 5
    matrix = np.random.default_rng(seed).standard_normal((count - hostile, 3)).astype(np.float32)
    updates = [of(lie, lie, lie)] * hostile + [{"w": row} for row in matrix]
    samples = [claim] * hostile + [10] * len(matrix)
    found = folded(TrimmedMean(), BASE, updates, samples).parameters["w"]
    assert (matrix.min(axis=0) <= found).all() and (found <= matrix.max(axis=0)).all()


def test_one_more_than_the_share_does_leave_it() -> None:
    """The negative control: two of five where one is borne."""
    said, lies = [of(1, 1, 1)] * 3, [of(-50, -50, -50)] * 2
    assert folded(TrimmedMean(), BASE, [*said, *lies]).parameters["w"].max() < -10


def test_what_few_devices_know_is_lost() -> None:
    """The other negative control: where data are unlike, the extremes are what one device alone has seen."""
    knows, other = of(0, 0, 1), of(0, 0, 0)
    assert folded(TrimmedMean(), BASE, [knows, other, other, other, other]).parameters["w"][2] == 0
