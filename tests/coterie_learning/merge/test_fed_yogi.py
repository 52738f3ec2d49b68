"""Server-side Yogi, beside the laws that every merge keeps."""

import math

import numpy as np
import pytest

from coterie_learning.merge.fed_adam import FedAdam
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.fed_yogi import FedYogi
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def test_three_steps_by_hand() -> None:
    kind = FedYogi(learning_rate=0.1, beta_1=0.9, beta_2=0.9, adaptivity=0.4)
    base, state = of(1.0), None
    w, m, v = 1.0, 0.0, 0.4**2
    for update in (0.5, -0.25, 0.125):
        found = folded(kind, base, [of(update)], state=state)
        base, state = found.parameters, found.state
        m, v = 0.9 * m + 0.1 * update, v - 0.1 * update**2 * math.copysign(1, v - update**2)
        w += 0.1 * m / (math.sqrt(v) + 0.4)
        assert base["w"][0] == pytest.approx(w, abs=1e-6)


def test_with_one_great_adaptivity_and_no_memory_it_is_fed_avg() -> None:
    """The degenerate case: where τ is far above every update, the step is η/2τ times the mean."""
    kind = FedYogi(learning_rate=2e4, beta_1=0, adaptivity=1e4)
    updates, samples = [of(1, -2, 0.5), of(0, 4, 0.25)], [1, 3]
    mean = folded(FedAvg(), of(1, 2, 3), updates, samples).parameters["w"]
    np.testing.assert_allclose(folded(kind, of(1, 2, 3), updates, samples).parameters["w"], mean, rtol=1e-6)


def test_after_a_large_update_it_forgets_more_slowly_than_adam() -> None:
    def moment(kind: FedAdam | FedYogi) -> float:
        state = folded(kind, of(0.0), [of(1.0)]).state
        for _ in range(200):
            state = folded(kind, of(0.0), [of(0.01)], state=state).state
        return float(state.tensors["second_moment"]["w"][0])

    assert moment(FedYogi()) > 5 * moment(FedAdam())


def test_after_a_large_update_it_is_slower_than_fed_avg() -> None:
    """The negative control: what is remembered of one large update holds back the many small ones after it."""

    def distance(kind: FedYogi | FedAvg) -> float:
        state = folded(kind, of(0.0), [of(1.0)]).state
        base = of(0.0)
        for _ in range(20):
            found = folded(kind, base, [of(float(0.5 * (0.1 - base["w"][0])))], state=state)
            base, state = found.parameters, found.state
        return abs(0.1 - float(base["w"][0]))

    assert distance(FedAvg()) < 1e-6
    assert distance(FedYogi(learning_rate=1e-3)) > 0.05
