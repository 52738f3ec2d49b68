"""FedDyn's merge, beside the laws that every merge keeps; its devices' half is tested with it in `local`."""

import numpy as np

from coterie_learning.merge.fed_dyn import FedDyn
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def test_two_rounds_of_two_devices_of_four_by_hand() -> None:
    first = folded(FedDyn(), of(0, 0, 0), [of(1, 0, 2), of(3, 0, -2)], fleet=4)
    np.testing.assert_array_equal(first.state.tensors["dual"]["w"], [-1, 0, 0])
    np.testing.assert_array_equal(first.parameters["w"], [3, 0, 0])
    second = folded(FedDyn(), first.parameters, [of(-1, 1, 1), of(-1, 3, 1)], state=first.state, fleet=4)
    np.testing.assert_array_equal(second.state.tensors["dual"]["w"], [-0.5, -1, -0.5])
    np.testing.assert_array_equal(second.parameters["w"], [2.5, 3, 1.5])
