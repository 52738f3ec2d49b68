"""Sparse levels, beside the laws that every codec keeps."""

import numpy as np

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.codec.sparse_levels import SHORT, SparseLevels
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors


def decoded(codec: SparseLevels, update: Tensors) -> Tensors:
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in update.items())
    return codec.decode(codec.encode(update, seed=0).payload, expected=specs)


def heavy_tailed(count: int = 8192, *, seed: int = 1) -> Tensors:
    return {"w": np.random.default_rng(seed).standard_t(3, count).astype(np.float32)}


def test_levels_are_multiples_of_the_step_times_the_root_mean_square() -> None:
    update = {"w": np.tile(np.array([0, 0, 0, 2], np.float32), SHORT)}  # a root mean square of 1
    np.testing.assert_array_equal(decoded(SparseLevels(step=1.5), update)["w"][:4], [0, 0, 0, 1.5])
    np.testing.assert_array_equal(decoded(SparseLevels(step=0.5), update)["w"][:4], [0, 0, 0, 2])
    # Half a step is rounded to the even level, zero.
    np.testing.assert_array_equal(decoded(SparseLevels(step=4), update)["w"], 0)


def test_what_lies_on_levels_comes_back_as_it_is() -> None:
    """The degenerate case: nothing to round."""
    levels = np.random.default_rng(5).integers(-4, 5, 1024).astype(np.float32)
    root = np.float32(np.sqrt(np.mean(levels.astype(np.float64) ** 2)))
    step = 1 / float(root)
    np.testing.assert_allclose(decoded(SparseLevels(step=step), {"w": levels})["w"], levels, rtol=1e-6)


def test_a_short_tensor_is_rounded_to_levels_of_int8() -> None:
    update = {"bias": np.linspace(-1, 1, SHORT - 1, dtype=np.float32)}
    assert np.abs(decoded(SparseLevels(step=16), update)["bias"] - update["bias"]).max() <= 0.51 / 127


def test_a_wider_step_takes_fewer_bytes() -> None:
    update = heavy_tailed()
    sizes = [len(SparseLevels(step=step).encode(update, seed=0).payload) for step in (0.5, 1, 2, 4)]
    assert sizes == sorted(sizes, reverse=True)
    plain, eighth = (len(codec.encode(update, seed=0).payload) for codec in (Float32Codec(), Int8()))
    assert sizes[-1] < eighth / 10
    assert sizes[-1] < plain / 32


def lost_after(rounds: int, codec: SparseLevels) -> float:
    """The share of the same update, sent so many times, that has not arrived."""
    update = heavy_tailed()
    arrived, residual = np.zeros(8192), np.zeros(8192, np.float32)
    for _ in range(rounds):
        given = {"w": update["w"] + residual}
        arrived += decoded(codec, given)["w"]
        residual = codec.encode(given, seed=0).residual["w"] if codec.feeds_back() else residual
    return float(np.linalg.norm(arrived / rounds - update["w"]) / np.linalg.norm(update["w"]))


def test_without_feedback_what_is_small_never_arrives() -> None:
    """The negative control: what lies below half a step is lost unless it is remembered."""
    assert lost_after(30, SparseLevels(step=3, feedback=False)) > 0.6
    assert lost_after(30, SparseLevels(step=3, feedback=True)) < 0.06


def test_with_steps_above_the_root_of_twelve_the_residual_grows_faster_than_it_leaves() -> None:
    """The regime where feedback loses: the rounding error of a step is longer than what is rounded."""
    assert lost_after(30, SparseLevels(step=4, feedback=True)) > 0.4


def test_an_update_of_nothing_takes_next_to_nothing() -> None:
    update = {"w": np.zeros(1_000_000, np.float32)}
    payload = SparseLevels().encode(update, seed=0).payload
    assert len(payload) < 2000
    np.testing.assert_array_equal(decoded(SparseLevels(), update)["w"], 0)
