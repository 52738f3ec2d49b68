"""SCAFFOLD's merge, beside the laws that every merge keeps; its devices' half is tested with it in `local`."""

import numpy as np

from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.scaffold import Scaffold
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def test_two_rounds_of_two_devices_of_four_by_hand() -> None:
    first = folded(Scaffold(), of(0, 0, 0), [of(1, 0, 2), of(3, 0, -2)], fleet=4)
    np.testing.assert_array_equal(first.parameters["w"], [2, 0, 0])
    np.testing.assert_array_equal(first.state.tensors["control"]["w"], [-1, 0, 0])
    second = folded(
        Scaffold(learning_rate=0.5), first.parameters, [of(1, 1, 1), of(1, 3, 1)], state=first.state, fleet=4
    )
    np.testing.assert_array_equal(second.parameters["w"], [2.5, 1, 0.5])
    np.testing.assert_array_equal(second.state.tensors["control"]["w"], [-1, -1, -0.5])


def test_the_version_is_that_of_fed_avg_with_devices_counted_once() -> None:
    updates, samples = [of(1, -2, 0.5), of(0, 4, 0.25)], [1, 3]
    mean = folded(FedAvg(weight_by="uniform"), of(1, 2, 3), updates, samples).parameters["w"]
    np.testing.assert_array_equal(folded(Scaffold(), of(1, 2, 3), updates, samples).parameters["w"], mean)


def test_a_fleet_cannot_be_smaller_than_the_round() -> None:
    updates = [of(1), of(3)]
    known, unknown = (folded(Scaffold(), of(0), updates, fleet=fleet).state.tensors["control"] for fleet in (2, 0))
    np.testing.assert_array_equal(known["w"], unknown["w"])
