"""Output rows of some classes: taken, rescaled, put in; everything else stays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.portions.rows import BIASES, ROWS, merge_rows, partition_rows, row_specs
from coterie_wire.errors import WireError
from tests.coterie_learning.portions.models import CLASSES, HEADLESS, LINEAR, WITHOUT_BIAS, parameters

chosen = st.sets(st.integers(0, CLASSES - 1), min_size=1).map(lambda classes: tuple(sorted(classes)))


def test_rows_are_rescaled_to_the_mean_length_of_the_known_ones() -> None:
    helper = {
        "weight": np.array([[0, 0, 0], [0, 0, 0], [0, 6, 8], [0, 0, 0], [0, 0, 0]], np.float32),
        "bias": np.array([0, 0, 20, 0, 0], np.float32),
    }
    target = {
        "weight": np.array([[2, 0, 0], [0, 4, 0], [9, 9, 9], [0, 0, 0], [0, 0, 0]], np.float32),
        "bias": np.array([1, 1, 1, 1, 1], np.float32),
    }
    merged = merge_rows(target, LINEAR, partition_rows(helper, LINEAR, (2,)), (2,), known=(0, 1, 2))
    # The known rows are 2 and 4 long, 3 on average, the received one 10: everything of it is scaled by 0.3.
    np.testing.assert_allclose(merged["weight"][2], [0, 1.8, 2.4], rtol=1e-6)
    assert merged["bias"][2] == pytest.approx(6)
    np.testing.assert_array_equal(np.delete(merged["weight"], 2, 0), np.delete(target["weight"], 2, 0))
    np.testing.assert_array_equal(np.delete(merged["bias"], 2, 0), [1, 1, 1, 1])


@given(classes=chosen, known=st.sets(st.integers(0, CLASSES - 1)))
def test_a_portion_of_oneself_turns_no_row(classes: tuple[int, ...], known: set[int]) -> None:
    own = parameters(LINEAR, 1)
    merged = merge_rows(own, LINEAR, partition_rows(own, LINEAR, classes), classes, sorted(known))
    lengths = np.linalg.norm(own["weight"], axis=1), np.linalg.norm(merged["weight"], axis=1)
    np.testing.assert_allclose(own["weight"] / lengths[0][:, None], merged["weight"] / lengths[1][:, None], rtol=1e-4)
    np.testing.assert_allclose(own["bias"] / lengths[0], merged["bias"] / lengths[1], rtol=1e-4)


@given(classes=chosen)
def test_a_portion_has_the_announced_tensors_whatever_its_scale(classes: tuple[int, ...]) -> None:
    for model in (LINEAR, WITHOUT_BIAS):
        helper, target = parameters(model, 1), parameters(model, 2)
        portion = partition_rows(helper, model, classes)
        assert {name: tensor.shape for name, tensor in portion.items()} == {
            spec.name: spec.shape for spec in row_specs(model, classes)
        }
        known = range(CLASSES)
        merged = merge_rows(target, model, portion, classes, known)
        clipped = {name: tensor * np.float32(0.01) for name, tensor in portion.items()}
        again = merge_rows(target, model, clipped, classes, known)
        if len(classes) < CLASSES:
            for name, tensor in merged.items():
                np.testing.assert_allclose(again[name], tensor, rtol=1e-4, atol=1e-6)


def test_rows_without_length_are_left_as_they_are() -> None:
    target = {"weight": np.zeros((5, 3), np.float32), "bias": np.zeros(5, np.float32)}
    portion = {ROWS: np.ones((1, 3), np.float32), BIASES: np.ones(1, np.float32)}
    assert merge_rows(target, LINEAR, portion, (0,), known=(1,))["weight"][0].tolist() == [1, 1, 1]


def test_nothing_given_is_changed() -> None:
    target, helper = parameters(LINEAR, 1), parameters(LINEAR, 2)
    merge_rows(target, LINEAR, partition_rows(helper, LINEAR, (0,)), (0,), known=(1,))["weight"][:] = 0
    for name, tensor in parameters(LINEAR, 1).items():
        np.testing.assert_array_equal(target[name], tensor)


@pytest.mark.parametrize("classes", [(), (1, 1), (2, 1), (-1,), (CLASSES,)])
def test_classes_that_are_not_the_models_are_refused(classes: tuple[int, ...]) -> None:
    with pytest.raises(WireError) as caught:
        partition_rows(parameters(LINEAR, 1), LINEAR, classes)
    assert caught.value.code == "portion.unknown_class"


def test_a_model_without_a_head_has_no_rows() -> None:
    with pytest.raises(WireError) as caught:
        row_specs(HEADLESS, (0,))
    assert caught.value.code == "portion.unsupported"
