"""Numbers by hand, the case in which each kind is one that is known, and the regime in which it loses."""

import numpy as np
from acme_kinds.decaying import Decaying
from acme_kinds.warm_up import WarmUp

from coterie_learning.local.sgd import Sgd
from coterie_learning.merge import Aggregate, Cohort, Merge, ServerState
from coterie_learning.merge.fed_avg import FedAvg
from coterie_wire.tensors import Tensors

BASE: Tensors = {"w": np.zeros(1, np.float32)}


def after(merge: Merge, rounds: int) -> float:
    """Where the parameter is that begins at 0, when every round's mean update leads half-way to 1."""
    parameters, state = BASE, merge.init(BASE)
    for _ in range(rounds):
        mean = {"w": (1 - np.asarray(parameters["w"], np.float64)) / 2}
        done = merge.finish(Aggregate(mean, Cohort(updates=2, fleet=2)), parameters, state)
        parameters = {"w": np.asarray(done.parameters["w"], np.float32)}
        state = ServerState(notes=done.state.notes)
    return float(parameters["w"][0])


def test_steps_grow_until_the_warm_up_is_over() -> None:
    kind = WarmUp(learning_rate=0.4, warm_up_steps=4)
    assert [round(kind.step_scalars(step).learning_rate, 6) for step in range(6)] == [0.1, 0.2, 0.3, 0.4, 0.4, 0.4]


def test_a_warm_up_of_one_step_is_descent() -> None:
    assert all(WarmUp(warm_up_steps=1).step_scalars(step) == Sgd().step_scalars(step) for step in range(3))


def test_without_decay_it_is_fed_avg() -> None:
    assert after(Decaying(decay=0), 3) == after(FedAvg(), 3) == 0.875


def test_rounds_move_less_and_less() -> None:
    assert after(Decaying(decay=1), 2) == 0.5 + 0.5 * 0.5 * 0.5


def test_where_all_devices_agree_the_decay_only_costs_rounds() -> None:
    assert after(Decaying(decay=1), 10) < after(FedAvg(), 4)
