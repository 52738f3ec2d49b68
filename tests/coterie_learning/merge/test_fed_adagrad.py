"""Server-side Adagrad, beside the laws that every merge keeps."""

import math

import numpy as np
import pytest

from coterie_learning.merge.fed_adagrad import FedAdagrad
from coterie_learning.merge.fed_avg import FedAvg
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def test_three_steps_by_hand() -> None:
    kind = FedAdagrad(learning_rate=0.1, beta_1=0.5, adaptivity=0.01)
    base, state = of(1.0), None
    w, m, v = 1.0, 0.0, 0.01**2
    for update in (0.5, -0.25, 0.125):
        found = folded(kind, base, [of(update)], state=state)
        base, state = found.parameters, found.state
        m, v = 0.5 * m + 0.5 * update, v + update**2
        w += 0.1 * m / (math.sqrt(v) + 0.01)
        assert base["w"][0] == pytest.approx(w, abs=1e-6)


def test_with_one_great_adaptivity_it_is_fed_avg() -> None:
    """The degenerate case: where τ is far above every update, the step is η/2τ times the mean."""
    kind = FedAdagrad(learning_rate=2e4, beta_1=0, adaptivity=1e4)
    updates, samples = [of(1, -2, 0.5), of(0, 4, 0.25)], [1, 3]
    mean = folded(FedAvg(), of(1, 2, 3), updates, samples).parameters["w"]
    np.testing.assert_allclose(folded(kind, of(1, 2, 3), updates, samples).parameters["w"], mean, rtol=1e-6)


def test_what_moves_rarely_goes_as_far_in_a_step_as_what_moves_always() -> None:
    kind, base, state = FedAdagrad(learning_rate=0.1, beta_1=0, adaptivity=1e-6), of(0, 0), None
    for round_ in range(9):
        found = folded(kind, base, [of(1.0, 1.0 if round_ == 8 else 0.0)], state=state)
        before, base, state = base, found.parameters, found.state
    always, rarely = (base["w"] - before["w"]).tolist()
    assert (always, rarely) == (pytest.approx(0.1 / 3, rel=1e-4), pytest.approx(0.1, rel=1e-4))


def test_it_slows_down_where_the_goal_moves_on() -> None:
    """The negative control: updates that stay as large, which FedAvg follows at the same pace for ever."""
    base, state, steps = of(0.0), None, []
    for _ in range(100):
        found = folded(FedAdagrad(beta_1=0), base, [of(1.0)], state=state)
        steps.append(float(found.parameters["w"][0] - base["w"][0]))
        base, state = found.parameters, found.state
    assert steps[-1] < 0.11 * steps[0]
