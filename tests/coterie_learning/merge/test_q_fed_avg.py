"""q-FedAvg's merge, beside the laws that every merge keeps; its devices' half is tested with it in `local`."""

import numpy as np

from coterie_learning.merge.q_fed_avg import QFedAvg
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def test_three_parameters_by_hand() -> None:
    scalars = [{"weight": 1.0, "curvature": 2.0}, {"weight": 1.0, "curvature": 6.0}]
    found = folded(QFedAvg(), of(0, 1, 0), [of(8, 0, 2), of(8, 4, -2)], [9, 1], scalars=scalars)
    np.testing.assert_array_equal(found.parameters["w"], [2, 1.5, 0])


def test_where_no_device_has_anything_left_to_learn_nothing_moves() -> None:
    found = folded(QFedAvg(), of(1), [of(0)], scalars=[{"weight": 1e-20, "curvature": 1e-20}])
    np.testing.assert_array_equal(found.parameters["w"], [1])
