"""Body units: those that a class leans on travel with it, and the target loses what it needs least."""

import numpy as np
import pytest

from coterie_learning.portions.units import body_of, merge_units, partition_units, unit_specs
from coterie_wire.errors import WireError
from tests.coterie_learning.portions.models import LINEAR, NETWORK, network_scores, parameters

HELPER = {
    "hidden.weight": np.eye(4, 3, dtype=np.float32),
    "hidden.bias": np.array([0, 0, 0.5, 1], np.float32),
    "out.weight": np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0.1, -2, 3, 0], [0] * 4, [0] * 4], np.float32),
    "out.bias": np.array([0, 0, -1, 0, 0], np.float32),
}


def test_the_most_significant_units_are_sent() -> None:
    portion = partition_units(HELPER, NETWORK, (2,), share=0.5)
    assert portion["rows"].tolist() == [[3, -2]]
    assert portion["units"].tolist() == [[0, 0, 1], [0, 1, 0]]
    assert portion["unit_biases"].tolist() == [0.5, 0]
    assert portion["biases"].tolist() == [-1]
    assert {name: tensor.shape for name, tensor in portion.items()} == {
        spec.name: spec.shape for spec in unit_specs(NETWORK, (2,), 0.5)
    }


def test_units_are_grafted_where_known_classes_need_them_least() -> None:
    target = dict(parameters(NETWORK, 3))
    target["out.weight"] = np.array([[5, 0.1, 4, 0.1], [6, 0, 5, 0.2], *[[1, 1, 1, 1]] * 3], np.float32)
    target["hidden.weight"] = np.roll(np.eye(4, 3, dtype=np.float32), 1, axis=0) + np.float32(0.5)
    x = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    merged = merge_units(target, NETWORK, partition_units(HELPER, NETWORK, (2,), share=0.5), (2,), known=(0, 1, 2))
    # Units 1 and 3 go; classes 0 and 1 hardly leaned on them, class 2 leans on nothing else.
    assert merged["out.weight"][:2].tolist() == [[5, 0, 4, 0], [6, 0, 5, 0]]
    assert merged["out.weight"][2, [0, 2]].tolist() == [0, 0]
    np.testing.assert_array_equal(merged["hidden.weight"][[0, 2]], target["hidden.weight"][[0, 2]])
    # What the helper says of class 2, but for the scales and the weight of 0.1 that was left behind.
    helper = dict(HELPER, **{"out.weight": HELPER["out.weight"] * (np.abs(HELPER["out.weight"]) > 0.5)})
    theirs, ours = network_scores(helper, x)[:, 2], network_scores(merged, x)[:, 2]
    correlation = np.corrcoef(theirs, ours)[0, 1]
    assert correlation > 0.95


def test_a_model_of_one_layer_has_no_units() -> None:
    with pytest.raises(WireError) as caught:
        body_of(LINEAR)
    assert caught.value.code == "portion.unsupported"


def test_nothing_given_is_changed() -> None:
    target = parameters(NETWORK, 1)
    merge_units(target, NETWORK, partition_units(parameters(NETWORK, 2), NETWORK, (0,), share=0.5), (0,), known=(1,))
    for name, tensor in parameters(NETWORK, 1).items():
        np.testing.assert_array_equal(target[name], tensor)
