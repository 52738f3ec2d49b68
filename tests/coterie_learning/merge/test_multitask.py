"""Multi-task learning's merge, beside the laws that every merge keeps; its devices' half is tested in `local`."""

import numpy as np

from coterie_learning.local._directions import DIRECTIONS
from coterie_learning.merge import Aggregate, Cohort, ServerState
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.merge.multitask import MultiTask
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded


def of(*numbers: float) -> Tensors:
    return {"w": np.array(numbers, np.float32)}


def test_directions_move_by_the_share_of_the_fleet_that_takes_part() -> None:
    before = ServerState({name: of(4, 8) for name in DIRECTIONS})
    numbers = {"w": np.array([1.0, -1.0]), **{f"{name}.w": np.array([0.0, 4.0]) for name in DIRECTIONS}}
    done = MultiTask().finish(Aggregate(numbers, Cohort(updates=1, fleet=4)), of(1, 1), before)
    np.testing.assert_array_equal(done.parameters["w"], [2, 0])
    for name in DIRECTIONS:
        np.testing.assert_array_equal(done.state.tensors[name]["w"], [3, 7])


def test_the_version_is_that_of_fed_avg_with_devices_counted_once() -> None:
    updates, samples = [of(1, -2, 0.5), of(0, 4, 0.25)], [1, 3]
    mean = folded(FedAvg(weight_by="uniform"), of(1, 2, 3), updates, samples).parameters["w"]
    np.testing.assert_array_equal(folded(MultiTask(), of(1, 2, 3), updates, samples).parameters["w"], mean)
