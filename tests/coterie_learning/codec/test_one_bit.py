"""One bit, beside the laws that every codec keeps, and the rotation that it stands on."""

import numpy as np
import pytest

from coterie_learning.codec.one_bit import LARGEST_NUMBER, OneBit
from coterie_learning.flat import layout_name
from coterie_learning.rotation import LARGEST_BLOCK, hadamard, power_blocks, random_signs
from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors


def decoded(codec: OneBit, update: Tensors, seed: int = 0) -> Tensors:
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in update.items())
    return codec.decode(codec.encode(update, seed=seed).payload, expected=specs)


def test_the_transform_is_the_matrix_of_hadamard() -> None:
    rows = [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]
    for place, row in enumerate(rows):
        np.testing.assert_array_equal(hadamard(np.eye(4, dtype=np.float32)[place]), row)
    numbers = np.random.default_rng(1).standard_normal(128).astype(np.float32)
    np.testing.assert_allclose(hadamard(hadamard(numbers)) / 128, numbers, atol=1e-6)
    matrix = np.array([[1]])
    for _ in range(7):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    np.testing.assert_allclose(hadamard(numbers), matrix @ numbers, atol=1e-4)


def test_blocks_are_powers_of_two_and_fill_the_vector() -> None:
    assert power_blocks(0) == ()
    assert power_blocks(13) == ((0, 8), (8, 12), (12, 13))
    sizes = [stop - start for start, stop in power_blocks(38_282)]
    assert sizes == [LARGEST_BLOCK] * 4 + [4096, 1024, 256, 128, 8, 2]


def test_signs_are_drawn_evenly() -> None:
    signs = random_signs(4096, 7, 1)
    assert set(signs.tolist()) == {1.0, -1.0}
    assert abs(signs.mean()) < 0.1
    assert not np.array_equal(signs, random_signs(4096, 7, 2))


@pytest.mark.parametrize("feedback", [True, False])
@pytest.mark.parametrize("number", [1.0, -3.75, 1e-20])
def test_one_number_comes_back_as_it_is(number: float, feedback: bool) -> None:
    """The degenerate case: a block of one has its sign and its magnitude as scale."""
    update = {"w": np.array([number], np.float32)}
    np.testing.assert_array_equal(decoded(OneBit(feedback=feedback), update)["w"], update["w"])


def test_an_update_that_one_row_of_the_matrix_makes_comes_back() -> None:
    """By hand: with one block of 2 and numbers (3, 3), one rotated number is 6 and the other 0."""
    update = {"w": np.array([3, 3], np.float32)}
    least = decoded(OneBit(feedback=True), update)["w"]
    # Length |6 + 0| / √2, scale 3 / √2; turned back, one number is 3 and the other 0.
    assert sorted(np.abs(least).tolist()) == pytest.approx([0, 3], abs=1e-6)
    # The scale that makes the mean right is 18 / (6 / √2), twice as large.
    assert np.abs(decoded(OneBit(), update)["w"]).max() == pytest.approx(6)


def test_without_feedback_the_mean_is_right() -> None:
    update = {"w": np.random.default_rng(2).standard_t(3, 4096).astype(np.float32)}
    draws = [decoded(OneBit(), update, seed)["w"] for seed in range(400)]
    # One draw loses √(π/2 − 1) = 0.76 of the length; the mean of 400, a 20th of it.
    length = np.linalg.norm(update["w"])
    assert np.linalg.norm(draws[0] - update["w"]) / length == pytest.approx(0.755, abs=0.03)
    assert np.linalg.norm(np.mean(draws, axis=0) - update["w"]) / length < 0.05


def test_with_feedback_least_is_lost() -> None:
    """A codec that feeds back must lose less than there is, or residuals grow."""
    update = {"w": np.random.default_rng(2).standard_t(3, 4096).astype(np.float32)}
    lost = np.linalg.norm(OneBit(feedback=True).encode(update, seed=0).residual["w"]) / np.linalg.norm(update["w"])
    assert lost == pytest.approx(np.sqrt(1 - 2 / np.pi), abs=0.02)


def test_signs_alone_lose_more_where_one_number_is_large() -> None:
    """The control: without rotation the large number and the many small ones share one magnitude."""
    numbers = np.full(4096, 0.01, np.float32)
    numbers[100] = 10
    rotated = np.linalg.norm(OneBit(feedback=True).encode({"w": numbers}, seed=0).residual["w"])
    plain = np.linalg.norm(numbers - np.sign(numbers) * np.abs(numbers).mean())
    assert rotated < 0.7 * plain


def test_it_takes_a_thirty_second_of_float32() -> None:
    codec, specs = OneBit(), (TensorSpec("w", "float32", (1_000_000,)),)
    assert codec.payload_bytes(specs).most < 4_000_000 / 31.8


@pytest.mark.parametrize("scale", [np.nan, np.inf, -1e-9, 2 * LARGEST_NUMBER])
def test_a_scale_that_could_stand_for_numbers_that_are_not_finite_is_refused(scale: float) -> None:
    codec, specs = OneBit(), (TensorSpec("w", "float32", (1,)),)
    hostile = codec.pack(
        {
            layout_name("signs", specs): np.zeros(1, np.uint8),
            "scale": np.array([scale], np.float32),
            "seed": np.zeros(1, np.int64),
        }
    )
    with pytest.raises(WireError) as caught:
        codec.decode(hostile, expected=specs)
    assert caught.value.code == "update.not_finite"
