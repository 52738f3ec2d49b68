"""Server-side Adam, beside the laws that every merge keeps."""

import math

import numpy as np
import pytest

from coterie_learning.merge.fed_adam import FedAdam
from coterie_learning.merge.fed_avg import FedAvg
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def test_three_steps_by_hand() -> None:
    kind = FedAdam(learning_rate=0.1, beta_1=0.9, beta_2=0.99, adaptivity=0.01)
    base, state = of(1.0), None
    w, m, v = 1.0, 0.0, 0.01**2
    for update in (0.5, -0.25, 0.125):
        found = folded(kind, base, [of(update)], state=state)
        base, state = found.parameters, found.state
        m, v = 0.9 * m + 0.1 * update, 0.99 * v + 0.01 * update**2
        w += 0.1 * m / (math.sqrt(v) + 0.01)
        assert base["w"][0] == pytest.approx(w, abs=1e-6)
        assert state.tensors["first_moment"]["w"][0] == pytest.approx(m, abs=1e-7)
        assert state.tensors["second_moment"]["w"][0] == pytest.approx(v, abs=1e-7)


def test_with_one_great_adaptivity_and_no_memory_it_is_fed_avg() -> None:
    """The degenerate case: where τ is far above every update, the step is η/(τ + τ√β₂) times the mean."""
    kind = FedAdam(learning_rate=1e4 * (1 + math.sqrt(0.99)), beta_1=0, beta_2=0.99, adaptivity=1e4)
    updates, samples = [of(1, -2, 0.5), of(0, 4, 0.25)], [1, 3]
    mean = folded(FedAvg(), of(1, 2, 3), updates, samples).parameters["w"]
    np.testing.assert_allclose(folded(kind, of(1, 2, 3), updates, samples).parameters["w"], mean, rtol=1e-6)


def test_what_is_rare_and_small_is_learned_as_quickly_as_what_is_large() -> None:
    kind, base, state = FedAdam(learning_rate=0.1, adaptivity=1e-6), of(0, 0), None
    for _ in range(30):
        found = folded(kind, base, [of(1.0, 0.001)], state=state)
        base, state = found.parameters, found.state
    assert base["w"][1] == pytest.approx(base["w"][0], rel=0.01)


def test_a_step_far_too_small_does_not_arrive_where_fed_avg_does() -> None:
    """The negative control: a target at 1, and updates that go half of the way to it."""

    def distance(kind: FedAdam | FedAvg) -> float:
        base, state = of(0.0), None
        for _ in range(20):
            found = folded(kind, base, [of(float(0.5 * (1 - base["w"][0])))], state=state)
            base, state = found.parameters, found.state
        return abs(1 - float(base["w"][0]))

    assert distance(FedAvg()) < 1e-5
    assert distance(FedAdam(learning_rate=1e-3)) > 0.9
