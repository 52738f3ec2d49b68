import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.moments import add_moments, empty_moments, merged_moments
from coterie_wire.bundle import RunningMoments, TensorSpec

MOMENTS = (RunningMoments(TensorSpec("mean", "float32", (2,)), TensorSpec("variance", "float32", (2,))),)
BASE = {"mean": np.array([5.0, -2.0], np.float32), "variance": np.ones(2, np.float32)}


def test_merged_moments_are_those_of_numbers() -> None:
    first = {"mean": np.array([0.0, 1.0], np.float32), "variance": np.array([1.0, 2.0], np.float32)}
    second = {"mean": np.array([4.0, 1.0], np.float32), "variance": np.array([1.0, 6.0], np.float32)}
    total = add_moments(empty_moments(MOMENTS), MOMENTS, first, BASE, 1)
    total = add_moments(total, MOMENTS, second, BASE, 3)
    merged = merged_moments(total, MOMENTS, BASE)
    np.testing.assert_allclose(merged["mean"], [3.0, 1.0])
    # 1 within devices and 3 between them; 5 within and nothing between.
    np.testing.assert_allclose(merged["variance"], [4.0, 5.0])


@given(st.lists(st.integers(1, 40), min_size=2, max_size=5), st.integers(0, 99))
def test_moments_of_parts_are_those_of_the_whole(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [rng.normal(rng.normal(0, 5), rng.uniform(0.1, 3), (size, 2)) for size in sizes]
    total = empty_moments(MOMENTS)
    for part in parts:
        found = {"mean": part.mean(axis=0).astype(np.float32), "variance": part.var(axis=0).astype(np.float32)}
        total = add_moments(total, MOMENTS, found, BASE, len(part))
    merged, whole = merged_moments(total, MOMENTS, BASE), np.concatenate(parts)
    np.testing.assert_allclose(merged["mean"], whole.mean(axis=0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(merged["variance"], whole.var(axis=0), rtol=1e-3, atol=1e-4)


def test_one_device_gives_its_own_moments() -> None:
    found = {"mean": np.array([3.0, -1.0], np.float32), "variance": np.array([0.5, 0.0], np.float32)}
    total = add_moments(empty_moments(MOMENTS), MOMENTS, found, BASE, 7)
    for name, tensor in merged_moments(total, MOMENTS, BASE).items():
        np.testing.assert_allclose(tensor, found[name], atol=1e-6)
