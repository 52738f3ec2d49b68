"""q-FedAvg: its degenerate case, its numbers by hand, and where it loses."""

import numpy as np
import pytest

from coterie_learning.device_state import NO_STATE
from coterie_learning.local import DELTA, Broadcast, Trained
from coterie_learning.local.q_fed_avg import QFedAvg
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.q_fed_avg import QFedAvg as QFedAvgMerge
from coterie_learning.updates import decode_scalars, split_update
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors
from tests.coterie_agent.bundles import SPEC
from tests.coterie_learning.client.holding import given, hold
from tests.coterie_learning.local.quadratics import Quadratic, held

UNLIKE = [Quadratic(0.0, 1.0, 5), Quadratic(0.0, 1.0, 5), Quadratic(1.0, 1.0, 5)]


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def test_three_parameters_by_hand() -> None:
    ended = QFedAvg(q=2, learning_rate=0.5).end(Broadcast(of(1, 1, 1)), Trained(of(2, 1, -1), 4, 3.0), NO_STATE)
    np.testing.assert_array_equal(ended.parts[DELTA]["w"], [9, 0, -18])
    assert ended.scalars == pytest.approx({"weight": 9, "curvature": 9 + 2 * 3 * 5 / 0.5})


def test_the_unit_of_the_loss_changes_no_step() -> None:
    for unit in (0.1, 1.0, 10.0):
        ended = QFedAvg(q=3, loss_scale=unit).end(Broadcast(of(0)), Trained(of(0.5), 4, 2.0), NO_STATE)
        step = ended.parts[DELTA]["w"] / np.float32(ended.scalars["curvature"])
        assert step == pytest.approx(0.5 / (1 + 3 / 2 * 0.25 / 0.1), rel=1e-5)


def test_it_sends_the_loss_of_what_it_received_over_all_its_training_samples() -> None:
    """Also when it is resumed in the middle, where that loss comes from the checkpoint."""
    kind = QFedAvg(q=1)
    straight, often = (hold(given(kind), restarts=restarts).update.payload for restarts in (False, True))
    assert straight == often
    taken = split_update(straight, SPEC, parts=kind.files())
    weight = decode_scalars(taken.others[0], kind.scalars)["weight"]
    longer = hold(given(QFedAvg(q=1, epochs=3))).update.payload
    assert decode_scalars(split_update(longer, SPEC, parts=2).others[0], kind.scalars)["weight"] == weight > 0.1


def test_without_fairness_it_is_fed_avg_with_devices_counted_once() -> None:
    """The degenerate case, bit for bit."""
    uniform = FedAvg(weight_by="uniform")
    fed_avg = held(UNLIKE, Sgd(learning_rate=0.05), uniform, rounds=20)
    assert held(UNLIKE, QFedAvg(q=0, learning_rate=0.05), QFedAvgMerge(), rounds=20) == fed_avg


@pytest.mark.long
def test_losses_differ_less_the_larger_q_is() -> None:
    """Two of three devices want 0, one wants 1: without fairness it has four times their loss in the end."""
    ends = [held(UNLIKE, QFedAvg(q=q, learning_rate=0.05), QFedAvgMerge(), rounds=400) for q in (0, 1, 5)]
    assert ends[0] == pytest.approx(1 / 3, abs=0.01)
    assert ends[0] < ends[1] < ends[2] < 0.5


def test_it_is_slower_than_fed_avg_where_all_devices_are_alike() -> None:
    """The negative control."""
    alike = [Quadratic(1.0, 1.0, 5)] * 3
    fed_avg = held(alike, Sgd(learning_rate=0.05), FedAvg(), rounds=5)
    assert held(alike, QFedAvg(q=5, learning_rate=0.05), QFedAvgMerge(), rounds=5) < 0.8 * fed_avg


def test_a_device_with_nothing_left_to_learn_counts_nearly_nothing() -> None:
    ended = QFedAvg(q=5).end(Broadcast(of(1)), Trained(of(1), 1, 0.0), NO_STATE)
    assert 0 < ended.scalars["weight"] <= ended.scalars["curvature"] < 1e-15
    QFedAvg(q=5).scale(ended.scalars)


@pytest.mark.parametrize("scalars", [{"weight": 2.0, "curvature": 1.0}, {"weight": 0.0, "curvature": 0.0}])
def test_scalars_that_contradict_one_another_are_refused(scalars: dict[str, float]) -> None:
    """A curvature below the weight would make the step longer than the updates."""
    with pytest.raises(WireError) as caught:
        QFedAvg().scale(scalars)
    assert caught.value.code == "update.out_of_range"
