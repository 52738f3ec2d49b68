"""FedNova's merge, beside the laws that every merge keeps; its devices' half is tested with it in `local`."""

import numpy as np

from coterie_learning.merge.fed_nova import FedNova
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def test_three_parameters_by_hand() -> None:
    updates, scalars = [of(1, 0, 2), of(-1, 1, 0)], [{"normaliser": 4.0}, {"normaliser": 8.0}]
    found = folded(FedNova(), of(0, 0, 0), updates, [3, 1], scalars=scalars)  # 0.5, 0.25 and 1.5, times 5
    np.testing.assert_array_equal(found.parameters["w"], [2.5, 1.25, 7.5])
