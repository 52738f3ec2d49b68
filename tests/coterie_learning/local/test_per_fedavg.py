"""Per-FedAvg: its steps by hand on a quadratic, its degenerate case, and its batches."""

from collections.abc import Sequence

import numpy as np
import pytest

from coterie_agent.training.batches import make_batch
from coterie_learning.client.optimisation import Optimisation
from coterie_learning.client.round import ClientRound
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.local.per_fedavg import PerFedAvg
from coterie_learning.local.sgd import Sgd
from coterie_wire.tensors import Tensors
from tests.coterie_agent.bundles import SPEC, parameters
from tests.coterie_learning.client.holding import STEPS, given, hold, rows

CURVATURE = np.array([1.0, 2.0, 0.5], np.float32)


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def step(kind: PerFedAvg, begun: Tensors) -> tuple[Tensors, Sequence[Tensors]]:
    """One step on the loss Σ curvature/2·w², and where its gradients were taken."""
    here, gradients, places = begun, [], []
    for _ in range(kind.runs()):
        places.append(here)
        gradients.append({"w": CURVATURE * here["w"]})
        here = kind.move(begun, gradients)
    return here, places


def test_a_first_order_step_by_hand() -> None:
    """w - β·H·(w - α·H·w)."""
    end, places = step(PerFedAvg(alpha=0.5, beta=0.25, hessian="none"), of(1, 1, 1))
    np.testing.assert_allclose(places[1]["w"], [0.5, 0, 0.75])
    np.testing.assert_allclose(end["w"], [1 - 0.25 * 0.5, 1, 1 - 0.25 * 0.375])


def test_a_hessian_free_step_by_hand() -> None:
    """w - β·(1 - α·H)·H·(w - α·H·w)."""
    end, places = step(PerFedAvg(alpha=0.5, beta=0.25, delta=0.125), of(1, 1, 1))
    np.testing.assert_allclose(places[2]["w"] + places[3]["w"], [2, 2, 2])
    np.testing.assert_allclose(end["w"], [1 - 0.25 * 0.5 * 0.5, 1, 1 - 0.25 * 0.75 * 0.375], rtol=1e-5)


def test_both_gradients_that_are_compared_are_of_one_batch() -> None:
    assert [PerFedAvg().batch(run) for run in range(9)] == [0, 1, 2, 2, 3, 4, 5, 5, 6]
    assert [PerFedAvg(hessian="none").batch(run) for run in range(5)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("hessian", ["free", "none"])
def test_without_adaptation_a_step_is_that_of_descent(hessian: str) -> None:
    """The degenerate case: α = 0. A step follows the gradient of its second batch."""
    kind = PerFedAvg(steps=1, alpha=0.0, beta=0.25, hessian=hessian)  # type: ignore[arg-type]
    found = hold(given(kind, exact=True)).update.payload
    optimisation = Optimisation(
        STEPS, SPEC, parameters(), inputs={}, train=given(kind).ids, local=Sgd(learning_rate=0.25), seed=3
    )
    client_batches = _second_batch(kind)
    optimisation.step(make_batch(rows(client_batches), SPEC, size=SPEC.batch_size))
    update = Float32Codec().decode(found, expected=SPEC.parameters)
    for name, tensor in optimisation.parameters().items():
        np.testing.assert_allclose(update[name], tensor - parameters()[name], atol=1e-6)


def _second_batch(kind: PerFedAvg) -> Sequence[int]:
    client = ClientRound(given(kind), STEPS)
    first = client.training.next_task()
    client.training.learn(make_batch(rows(first.ids), SPEC, size=SPEC.batch_size))  # type: ignore[union-attr]
    return client.training.next_task().ids  # type: ignore[union-attr]


def test_a_step_that_was_not_finished_does_not_count() -> None:
    whole = hold(given(PerFedAvg(steps=1))).update.payload
    assert hold(given(PerFedAvg(steps=2)), steps=6).update.payload == whole
