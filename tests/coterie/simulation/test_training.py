"""A virtual device holds back what an agent holds back."""

import pytest

from coterie.simulation.training import parts_alone, parts_in_round
from coterie_agent.training.batches import HELD_OUT_SHARE
from coterie_learning.local import Local
from coterie_learning.local.distill import Distill
from coterie_learning.local.sgd import Sgd

SAMPLES = 200


@pytest.mark.parametrize(
    ("local", "share"), [(Sgd(), HELD_OUT_SHARE), (Distill(validation_share=0.4), 0.4), (Distill(), 0.2)]
)
def test_in_a_round_a_share_is_held_back(local: Local, share: float) -> None:
    parts = parts_in_round(SAMPLES, local)
    assert sorted([*parts.train, *parts.held_out]) == list(range(SAMPLES))
    assert len(parts.held_out) == pytest.approx(share * SAMPLES, abs=3)


@pytest.mark.parametrize(("local", "samples"), [(Distill(validation_share=0), SAMPLES), (Sgd(), 9)])
def test_where_nothing_can_be_spared_all_samples_serve_both_ends(local: Local, samples: int) -> None:
    parts = parts_in_round(samples, local)
    assert list(parts.train) == list(parts.held_out) == list(range(samples))


def test_alone_it_learns_from_everything_but_what_it_stops_by() -> None:
    assert list(parts_alone(SAMPLES, Sgd()).train) == list(range(SAMPLES))
    assert parts_alone(SAMPLES, Distill()) == parts_in_round(SAMPLES, Distill())
