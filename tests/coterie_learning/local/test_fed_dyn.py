"""FedDyn: its degenerate case, its states by hand, and where it loses."""

import numpy as np
import pytest

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.device_state import NO_STATE, State
from coterie_learning.local import DELTA, Broadcast, Trained
from coterie_learning.local.fed_dyn import FedDyn
from coterie_learning.local.prox import Prox
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.fed_dyn import FedDyn as FedDynMerge
from coterie_wire.tensors import Tensors
from tests.coterie_agent.bundles import SPEC
from tests.coterie_learning.client.holding import given, hold
from tests.coterie_learning.local.quadratics import Quadratic, held

UNLIKE = [Quadratic(0.0, 1.0, 20), Quadratic(1.0, 0.1, 20)]
OPTIMUM = 0.1 / 1.1


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def test_the_first_round_is_fed_proxs() -> None:
    assert hold(given(FedDyn(alpha=0.5))).update.payload == hold(given(Prox(mu=0.5))).update.payload


def test_without_a_pull_its_steps_are_those_of_sgd() -> None:
    """The degenerate case: α near 0, whatever was learned before."""
    states = hold(given(FedDyn(alpha=1e-12), exact=True)).update.states
    one = hold(given(FedDyn(alpha=1e-12), states, received=1, exact=True)).update.payload
    assert one == hold(given(Sgd(), received=1, exact=True)).update.payload


def test_it_remembers_what_the_platform_reads() -> None:
    """Not what it computed: the codec loses some of that, and the next round begins from what counted."""
    found = hold(given(FedDyn())).update
    exact = hold(given(FedDyn(), exact=True)).update
    sent = Float32Codec().decode(exact.payload, expected=SPEC.parameters)
    for name, tensor in sent.items():
        np.testing.assert_array_equal(exact.states["local"].tensors[name], -tensor)
        lost = found.states["codec"].tensors[f"delta.{name}"]
        np.testing.assert_allclose(found.states["local"].tensors[name], -(tensor - lost), atol=1e-6)
        assert np.abs(lost).max() > 0


def test_the_anchor_of_three_parameters_by_hand() -> None:
    broadcast, state = Broadcast(of(1, 2, 3), round=5), State(of(0.5, 0, -1), {"round": 3})
    np.testing.assert_array_equal(FedDyn().begin(broadcast, state)["anchor"]["w"], [1.5, 2, 2])
    ended = FedDyn().end(broadcast, Trained(of(2, 2, 2), 1), state)
    np.testing.assert_array_equal(ended.parts[DELTA]["w"], [1, 0, -1])
    after = FedDyn().remember(ended, lambda: {DELTA: of(1, 0, -1)})
    np.testing.assert_array_equal(after.tensors["w"], [-0.5, 0, 0])
    assert after.values == {"round": 5}


def test_what_is_too_old_is_forgotten() -> None:
    state = State(of(5), {"round": 1})
    assert FedDyn(keep_rounds=10).begin(Broadcast(of(1), round=11), state)["anchor"]["w"] == 6
    assert FedDyn(keep_rounds=10).begin(Broadcast(of(1), round=12), state)["anchor"]["w"] == 1
    assert FedDyn().begin(Broadcast(of(1)), NO_STATE)["anchor"]["w"] == 1


def test_it_finds_the_optimum_that_fed_avg_misses() -> None:
    fed_avg = held(UNLIKE, Sgd(learning_rate=0.1), FedAvg(weight_by="uniform"), rounds=300)
    assert abs(fed_avg - OPTIMUM) > 0.05
    assert held(UNLIKE, FedDyn(), FedDynMerge(), rounds=300) == pytest.approx(OPTIMUM, abs=1e-3)


def test_a_pull_far_below_the_curvature_swings_for_long() -> None:
    """The negative control: ten rounds in, the version is further from the optimum than FedAvg's."""
    fed_avg = held(UNLIKE, Sgd(learning_rate=0.1), FedAvg(weight_by="uniform"), rounds=10)
    assert abs(held(UNLIKE, FedDyn(alpha=0.001), FedDynMerge(), rounds=10) - OPTIMUM) > abs(fed_avg - OPTIMUM)
