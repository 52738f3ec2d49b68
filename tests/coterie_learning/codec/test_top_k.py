"""Top-k, beside the laws that every codec keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.codec.top_k import TopK
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors


def decoded(codec: TopK, update: Tensors) -> Tensors:
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in update.items())
    return codec.decode(codec.encode(update, seed=0).payload, expected=specs)


def test_the_largest_of_all_tensors_are_sent() -> None:
    update: Tensors = {
        "a": np.array([[1, -6], [2, 4]], np.float32),
        "b": np.array([-5, 0.5, 0], np.float32),
        "c": np.ones(1, np.float32),
    }
    found = decoded(TopK(share=3 / 8, value="sign"), update)
    # Of a tensor's numbers that are sent the mean magnitude: (6 + 4) / 2 in a.
    np.testing.assert_array_equal(found["a"], [[0, -5], [0, 5]])
    np.testing.assert_array_equal(found["b"], [-5, 0, 0])
    np.testing.assert_array_equal(found["c"], [0])


def test_of_equal_numbers_the_first_are_sent_and_at_least_one() -> None:
    update = {"w": np.full(10, -3, np.float32)}
    np.testing.assert_array_equal(decoded(TopK(share=0.3), update)["w"], [-3] * 3 + [0] * 7)
    np.testing.assert_array_equal(decoded(TopK(share=0.001), update)["w"], [-3] + [0] * 9)


@given(st.lists(st.integers(-127, 127), min_size=1, max_size=40))
def test_all_of_them_as_int8_come_back_as_they_are(levels: list[int]) -> None:
    """The degenerate case: everything is sent, and lies on levels."""
    update = {"w": np.array([*levels, 127], np.float32) / np.float32(4)}
    np.testing.assert_array_equal(decoded(TopK(share=1, value="int8"), update)["w"], update["w"])


def test_all_signs_are_sign_descent() -> None:
    """The degenerate case of signs: each number's sign, times the mean magnitude."""
    update = {"w": np.array([1, -2, 3, -6], np.float32)}
    np.testing.assert_array_equal(decoded(TopK(share=1), update)["w"], [3, -3, 3, -3])


@pytest.mark.parametrize("value", ["sign", "int8"])
def test_a_fortieth_takes_a_hundredth_of_the_bytes(value: str) -> None:
    update = {"w": np.random.default_rng(3).standard_t(3, 40_000).astype(np.float32)}
    payload = TopK(share=0.01, value=value).encode(update, seed=0).payload
    assert len(payload) < update["w"].nbytes / 100


@pytest.mark.parametrize("feedback", [True, False])
def test_without_feedback_what_is_small_never_arrives(feedback: bool) -> None:
    """The negative control."""
    codec = TopK(share=0.1)
    update = {"w": np.linspace(0.1, 1, 100, dtype=np.float32)}
    arrived, residual = np.zeros(100), np.zeros(100, np.float32)
    for _ in range(100):
        given = {"w": update["w"] + residual}
        arrived += decoded(codec, given)["w"]
        residual = codec.encode(given, seed=0).residual["w"] if feedback else residual
    missing = int((arrived < 10 * update["w"]).sum())
    assert missing == (0 if feedback else 90)
