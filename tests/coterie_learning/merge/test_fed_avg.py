import numpy as np

from coterie.cloud.averaging import merge_blocks
from coterie_learning.merge import Contribution
from coterie_learning.merge.fed_avg import FedAvg
from coterie_wire.bundle import ModelSpec, TensorSpec

MODEL = ModelSpec.of_classifier(inputs=(), classes=3, batch_size=1, parameters=(TensorSpec("w", "float32", (3,)),))
BASE = {"w": np.array([1.0, 2.0, 3.0], np.float32)}
FIRST = Contribution({"w": np.array([1.0, 0.0, -1.0], np.float32)}, samples=1)
SECOND = Contribution({"w": np.array([0.0, 4.0, 3.0], np.float32)}, samples=3)


def merged(kind: FedAvg, *contributions: Contribution) -> list[float]:
    return merge_blocks(kind, MODEL, BASE, iter([iter(contributions)]))["w"].tolist()


def test_updates_count_by_their_samples() -> None:
    assert merged(FedAvg(), FIRST, SECOND) == [1.25, 5.0, 5.0]


def test_uniformly_each_counts_once() -> None:
    assert merged(FedAvg(weight_by="uniform"), FIRST, SECOND) == [1.5, 4.0, 4.0]


def test_half_a_learning_rate_goes_half_the_way() -> None:
    assert merged(FedAvg(learning_rate=0.5), FIRST, SECOND) == [1.125, 3.5, 4.0]


def test_one_update_is_taken_as_it_is() -> None:
    assert merged(FedAvg(), FIRST) == [2.0, 2.0, 2.0]


def test_uniform_is_by_samples_where_all_have_as_many() -> None:
    same = SECOND._replace(samples=FIRST.samples)
    assert merged(FedAvg(), FIRST, same) == merged(FedAvg(weight_by="uniform"), FIRST, same)


def test_blocks_are_summed_apart() -> None:
    parts = merge_blocks(FedAvg(), MODEL, BASE, iter([iter([FIRST]), iter([SECOND])]))
    assert parts["w"].tolist() == [1.25, 5.0, 5.0]
