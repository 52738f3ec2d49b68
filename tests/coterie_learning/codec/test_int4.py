"""Int4, beside the laws that every codec keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.codec.int4 import Int4
from coterie_learning.codec.int8 import Int8
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors


def decoded(codec: Int4 | Int8, update: Tensors, seed: int) -> Tensors:
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in update.items())
    return codec.decode(codec.encode(update, seed=seed).payload, expected=specs)


@given(st.lists(st.integers(-7, 7), min_size=1, max_size=40))
def test_what_lies_on_levels_comes_back_as_it_is(levels: list[int]) -> None:
    """The degenerate case: nothing to round."""
    update = {"w": np.array([*levels, 7], np.float32) / np.float32(4)}
    np.testing.assert_array_equal(decoded(Int4(), update, 3)["w"], update["w"])


def test_it_is_unbiased() -> None:
    update = {"w": np.linspace(-1, 1, 257, dtype=np.float32)}
    draws = [decoded(Int4(), update, seed)["w"] for seed in range(500)]
    # The standard deviation of one draw is at most half a step; of the mean of 500, a 45th of it.
    assert np.abs(np.mean(draws, axis=0, dtype=np.float64) - update["w"]).max() < 5 / 7 / 2 / np.sqrt(500)


@pytest.mark.parametrize(("tails", "most"), [(1000, 0.4), (3, 0.25)])
def test_it_takes_less_than_half_of_int8(tails: float, most: float) -> None:
    """The less the heavier the tails are, because then most codes are zero."""
    update = {"w": np.random.default_rng(1).standard_t(tails, (64, 1024)).astype(np.float32)}
    sizes = [len(codec.encode(update, seed=0).payload) for codec in (Int4(), Int8())]
    assert sizes[0] < most * sizes[1]


@pytest.mark.parametrize("feedback", [True, False])
def test_without_feedback_one_update_is_far_worse_than_with_int8(feedback: bool) -> None:
    """The negative control: one draw loses 18 times what int8 does; summed over rounds, feedback makes up for it."""
    update = {"w": np.random.default_rng(2).standard_normal(4096, dtype=np.float32)}
    losses = {}
    for codec in (Int4(), Int8()):
        arrived, residual = np.zeros(4096), np.zeros(4096, np.float32)
        for seed in range(40 if feedback else 1):
            given = {"w": update["w"] + residual}
            arrived += decoded(codec, given, seed)["w"]
            residual = codec.encode(given, seed=seed).residual["w"] if feedback else residual
        losses[codec.name] = np.linalg.norm(arrived / (40 if feedback else 1) - update["w"])
    assert 15 < losses["int4"] / losses["int8"] < 25
    assert (losses["int4"] < 0.02 * np.linalg.norm(update["w"])) == feedback
