"""Local kinds: what they ask of the train step graph."""

import pytest

from coterie_learning.local import StepScalars
from coterie_learning.local.prox import Prox
from coterie_learning.local.sgd import Sgd


@pytest.mark.parametrize("step", [0, 1, 1000])
def test_prox_without_its_proximal_term_is_sgd(step: int) -> None:
    prox = Prox(epochs=3, learning_rate=0.3, momentum=0.8, mu=0.0)
    sgd = Sgd(epochs=3, learning_rate=0.3, momentum=0.8)
    assert prox.step_scalars(step) == sgd.step_scalars(step)
    assert prox.epochs_wanted() == sgd.epochs_wanted() == 3


def test_prox_holds_every_step_by_mu() -> None:
    assert Prox(learning_rate=0.3, mu=0.5).step_scalars(7) == StepScalars(learning_rate=0.3, proximal_weight=0.5)
