import numpy as np

from coterie_learning.merge.fed_avg import FedAvg
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded

BASE = {"w": np.array([1.0, 2.0, 3.0], np.float32)}
FIRST = {"w": np.array([1.0, 0.0, -1.0], np.float32)}
SECOND = {"w": np.array([0.0, 4.0, 3.0], np.float32)}


def merged(kind: FedAvg, *updates: Tensors, samples: tuple[int, ...]) -> list[float]:
    return folded(kind, BASE, updates, samples).parameters["w"].tolist()


def test_updates_count_by_their_samples() -> None:
    assert merged(FedAvg(), FIRST, SECOND, samples=(1, 3)) == [1.25, 5.0, 5.0]


def test_uniformly_each_counts_once() -> None:
    assert merged(FedAvg(weight_by="uniform"), FIRST, SECOND, samples=(1, 3)) == [1.5, 4.0, 4.0]


def test_half_a_learning_rate_goes_half_the_way() -> None:
    assert merged(FedAvg(learning_rate=0.5), FIRST, SECOND, samples=(1, 3)) == [1.125, 3.5, 4.0]


def test_one_update_is_taken_as_it_is() -> None:
    assert merged(FedAvg(), FIRST, samples=(7,)) == [2.0, 2.0, 2.0]


def test_uniform_is_by_samples_where_all_have_as_many() -> None:
    uniform = FedAvg(weight_by="uniform")
    assert merged(FedAvg(), FIRST, SECOND, samples=(5, 5)) == merged(uniform, FIRST, SECOND, samples=(1, 9))
