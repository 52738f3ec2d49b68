"""Server-side momentum, beside the laws that every merge keeps."""

import numpy as np
import pytest

from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.fed_avg_m import FedAvgM
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def test_three_steps_by_hand() -> None:
    base, state = of(1.0), None
    for update, expected in ((0.5, 1.5), (-0.25, 1.5), (0.125, 1.625)):  # m: 0.5, 0.0, 0.125
        found = folded(FedAvgM(momentum=0.5), base, [of(update)], state=state)
        base, state = found.parameters, found.state
        assert base["w"][0] == pytest.approx(expected, abs=1e-7)


def test_without_momentum_it_is_fed_avg() -> None:
    """The degenerate case."""
    updates, samples = [of(1, -2, 0.5), of(0, 4, 0.25)], [1, 3]
    mean = folded(FedAvg(), of(1, 2, 3), updates, samples).parameters["w"]
    np.testing.assert_array_equal(folded(FedAvgM(momentum=0), of(1, 2, 3), updates, samples).parameters["w"], mean)


def distance_after(kind: FedAvg | FedAvgM, rounds: int, share: float) -> float:
    """How far a parameter is from 1 whose devices each go `share` of the way to it."""
    base, state = of(0.0), None
    for _ in range(rounds):
        found = folded(kind, base, [of(float(share * (1 - base["w"][0])))], state=state)
        base, state = found.parameters, found.state
    return abs(1 - float(base["w"][0]))


def test_small_steps_in_one_direction_add_up() -> None:
    assert distance_after(FedAvgM(), 10, 0.02) < 0.5 * distance_after(FedAvg(), 10, 0.02)


def test_large_steps_swing_where_fed_avg_arrives() -> None:
    """The negative control."""
    assert distance_after(FedAvg(), 10, 0.9) < 1e-6 < 0.1 < distance_after(FedAvgM(), 10, 0.9)
