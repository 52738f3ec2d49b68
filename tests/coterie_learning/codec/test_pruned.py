"""Pruning, beside the laws that every codec keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.codec.pruned import Pruned
from coterie_learning.codec.top_k import TopK
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors


def decoded(codec: Pruned | TopK, update: Tensors) -> Tensors:
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in update.items())
    return codec.decode(codec.encode(update, seed=0).payload, expected=specs)


def test_every_tensor_keeps_its_share() -> None:
    update: Tensors = {"a": np.array([[1, -6], [2, 4]], np.float32), "b": np.array([-0.5, 0.25], np.float32)}
    found = decoded(Pruned(share=0.5), update)
    np.testing.assert_array_equal(found["a"], [[0, -8], [0, 4]])  # multiples of 4, halves to the even one
    np.testing.assert_array_equal(found["b"], [-0.5, 0])
    # The control: by the magnitudes of the whole update nothing of b is sent.
    np.testing.assert_array_equal(decoded(TopK(share=0.5), update)["b"], [0, 0])


def test_of_equal_numbers_the_first_are_kept_and_at_least_one() -> None:
    update = {"w": np.full(10, -3, np.float32)}
    np.testing.assert_array_equal(decoded(Pruned(share=0.3), update)["w"], [-3] * 3 + [0] * 7)
    np.testing.assert_array_equal(decoded(Pruned(share=0.001), update)["w"], [-3] + [0] * 9)


@given(st.lists(st.integers(-127, 127), min_size=1, max_size=40))
def test_multiples_of_the_smallest_come_back_as_they_are(levels: list[int]) -> None:
    """The degenerate case."""
    update = {"w": np.array([*levels, 1], np.float32) / np.float32(4)}
    np.testing.assert_array_equal(decoded(Pruned(share=1), update)["w"], update["w"])


@given(st.integers(0, 2**32))
def test_nothing_that_is_kept_is_rounded_to_zero(seed: int) -> None:
    update = {"w": np.random.default_rng(seed).standard_t(4, 2000).astype(np.float32)}
    assert np.count_nonzero(decoded(Pruned(share=0.05), update)["w"]) == 100


def test_a_twentieth_takes_a_fortieth_of_the_bytes() -> None:
    update = {"w": np.random.default_rng(3).standard_t(3, 40_000).astype(np.float32)}
    assert len(Pruned().encode(update, seed=0).payload) < update["w"].nbytes / 40


@pytest.mark.parametrize("feedback", [True, False])
def test_without_feedback_what_is_small_never_arrives(feedback: bool) -> None:
    """The negative control."""
    codec = Pruned(share=0.1)
    update = {"w": np.linspace(0.1, 1, 100, dtype=np.float32)}
    arrived, residual = np.zeros(100), np.zeros(100, np.float32)
    for _ in range(100):
        given = {"w": update["w"] + residual}
        arrived += decoded(codec, given)["w"]
        residual = codec.encode(given, seed=0).residual["w"] if feedback else residual
    missing = int((arrived < 10 * update["w"]).sum())
    assert missing == (0 if feedback else 90)
