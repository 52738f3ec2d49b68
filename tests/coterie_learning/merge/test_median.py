"""The median, beside the laws that every merge keeps."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.median import Median
from tests.coterie_learning.merge.folding import folded

BASE = {"w": np.zeros(3, np.float32)}


def of(*numbers: float) -> dict[str, np.ndarray]:
    return {"w": np.array(numbers, np.float32)}


def test_each_parameter_has_a_median_of_its_own() -> None:
    merged = folded(Median(), BASE, [of(1, 0, 9), of(2, 7, -9), of(3, 8, 0)])
    assert merged.parameters["w"].tolist() == [2, 7, 0]


def test_of_an_even_number_it_is_the_mean_of_the_middle_two() -> None:
    merged = folded(Median(learning_rate=0.5), BASE, [of(1, 0, 0), of(2, 0, 0), of(4, 0, 0), of(9, 0, 0)])
    assert merged.parameters["w"].tolist() == [1.5, 0, 0]


def test_of_one_or_two_it_is_the_uniform_mean() -> None:
    """The degenerate case."""
    for updates in ([of(1, 2, 3)], [of(1, 2, 3), of(2, 0, 5)]):
        mean = folded(FedAvg(weight_by="uniform"), BASE, updates)
        np.testing.assert_array_equal(folded(Median(), BASE, updates).parameters["w"], mean.parameters["w"])


@given(
    seed=st.integers(0, 2**32),
    honest=st.integers(2, 9),
    claim=st.integers(1, 2**52),
    lie=st.floats(-100, 100, width=32),
)
def test_fewer_than_half_cannot_leave_what_the_others_say(seed: int, honest: int, claim: int, lie: float) -> None:
    said = [of(*numbers) for numbers in np.random.default_rng(seed).standard_normal((honest, 3)).astype(np.float32)]
    lies = [of(lie, lie, lie)] * (honest - 1)
    found = folded(Median(), BASE, [*lies, *said], [claim] * len(lies) + [10] * honest).parameters["w"]
    columns = np.stack([one["w"] for one in said])
    assert (columns.min(axis=0) <= found).all() and (found <= columns.max(axis=0)).all()


def test_the_mean_does_leave_it() -> None:
    said, lies = [of(1, 1, 1)] * 3, [of(-50, -50, -50)] * 2
    assert folded(FedAvg(), BASE, [*said, *lies]).parameters["w"].max() < -10
    assert folded(Median(), BASE, [*said, *lies]).parameters["w"].tolist() == [1, 1, 1]


def test_where_devices_differ_it_hears_only_the_majority() -> None:
    """The negative control: two of five devices know a class, and what they alone learned is lost."""
    knows, other = of(0, 0, 1), of(0, 0, 0)
    assert folded(Median(), BASE, [knows, knows, other, other, other]).parameters["w"][2] == 0
    np.testing.assert_allclose(folded(FedAvg(), BASE, [knows, knows, other, other, other]).parameters["w"][2], 0.4)
