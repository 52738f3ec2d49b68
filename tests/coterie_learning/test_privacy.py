"""Privacy kinds: clipping bounds the norm, and leaves alone what is within it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coterie_learning.privacy.clip import Clip
from coterie_learning.privacy.none import NoPrivacy
from coterie_wire.tensors import Float32, Tensors

vectors = hnp.arrays(np.float32, st.integers(1, 8), elements=st.floats(-1e3, 1e3, width=32))
THREE_FOUR: Tensors = {"a": np.array([3], np.float32), "b": np.array([[0, -4]], np.float32)}


def norm_of(update: Tensors) -> float:
    return float(np.linalg.norm(np.concatenate([tensor.ravel() for tensor in update.values()]).astype(np.float64)))


@pytest.mark.parametrize("kind", [NoPrivacy(), Clip(norm=5.0), Clip(norm=6.0)], ids=repr)
def test_an_update_within_the_norm_leaves_as_it_is(kind: NoPrivacy | Clip) -> None:
    assert kind.protect(THREE_FOUR, seed=1) is THREE_FOUR


def test_a_longer_update_is_scaled_as_a_whole() -> None:
    clipped = Clip(norm=2.5).protect(THREE_FOUR, seed=1)
    np.testing.assert_array_equal(clipped["a"], np.array([1.5], np.float32))
    np.testing.assert_array_equal(clipped["b"], np.array([[0, -2]], np.float32))
    assert clipped["a"].dtype == np.float32


@given(a=vectors, b=vectors, norm=st.floats(1e-3, 1e3))
@settings(max_examples=50)
def test_no_update_leaves_longer_than_the_norm(a: Float32, b: Float32, norm: float) -> None:
    assert norm_of(Clip(norm=norm).protect({"a": a, "b": b}, seed=1)) <= norm * (1 + 1e-6)
