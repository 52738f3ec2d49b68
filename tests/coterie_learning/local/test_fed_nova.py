"""FedNova: its normalisers, its degenerate case, the fixed point that it is for, and where it loses."""

import numpy as np
import pytest

from coterie_learning.device_state import NO_STATE
from coterie_learning.local import DELTA, Broadcast, Trained
from coterie_learning.local.fed_nova import FedNova
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.fed_nova import FedNova as FedNovaMerge
from coterie_wire.tensors import Tensors
from tests.coterie_learning.local.quadratics import Quadratic, held

UNEQUAL = [Quadratic(0.0, 1.0, 2), Quadratic(1.0, 1.0, 40)]


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_the_normaliser_is_the_sum_of_what_each_gradient_moves(steps: int) -> None:
    """Each gradient moves the device by itself, then by what is left of it: powers of ρ, or of 1 - lr·μ."""
    momentum = sum(sum(0.9**later for later in range(steps - step)) for step in range(steps))
    assert FedNova(momentum=0.9).normaliser(steps) == pytest.approx(momentum)
    held_near = sum((1 - 0.1 * 2.0) ** later for later in range(steps))
    assert FedNova(learning_rate=0.1, mu=2.0).normaliser(steps) == pytest.approx(held_near)
    assert FedNova().normaliser(steps) == steps


def test_three_parameters_by_hand() -> None:
    ended = FedNova().end(Broadcast(of(1, 1, 1)), Trained(of(3, 1, -1), 4), NO_STATE)
    np.testing.assert_array_equal(ended.parts[DELTA]["w"], [0.5, 0, -0.5])
    assert ended.scalars == {"normaliser": 4}


@pytest.mark.parametrize("fields", [{"momentum": 0.5, "mu": 0.1}, {"learning_rate": 1.0, "mu": 2.0}])
def test_what_cannot_be_normalised_is_refused(fields: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="mu"):
        FedNova(**fields)


def test_of_equal_steps_it_is_fed_avg() -> None:
    """The degenerate case."""
    equal = [device._replace(steps=8) for device in UNEQUAL]
    fed_avg = held(equal, Sgd(learning_rate=0.01), FedAvg(), rounds=5)
    assert held(equal, FedNova(learning_rate=0.01), FedNovaMerge(), rounds=5) == pytest.approx(fed_avg, abs=1e-6)


@pytest.mark.long
def test_who_makes_more_steps_weighs_no_more() -> None:
    """The prototype's figures: 0.943 and 0.454, where 0.5 is right."""
    assert held(UNEQUAL, Sgd(learning_rate=0.01), FedAvg(), rounds=200) == pytest.approx(0.943, abs=0.002)
    assert held(UNEQUAL, FedNova(learning_rate=0.01), FedNovaMerge(), rounds=200) == pytest.approx(0.454, abs=0.002)
    assert held(UNEQUAL, FedNova(learning_rate=0.001), FedNovaMerge(), rounds=2000) == pytest.approx(0.495, abs=0.002)


def test_where_all_want_the_same_it_is_no_faster() -> None:
    """The negative control: with one optimum for all there is nothing to be consistent about."""
    alike = [device._replace(centre=1.0) for device in UNEQUAL]
    fed_avg = held(alike, Sgd(learning_rate=0.01), FedAvg(), rounds=3)
    assert held(alike, FedNova(learning_rate=0.01), FedNovaMerge(), rounds=3) <= fed_avg + 0.05
