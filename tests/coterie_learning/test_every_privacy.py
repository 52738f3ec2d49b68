"""Every kind of slot `privacy`, on the device: what leaves has the update's shape, is finite, and follows the seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coterie_learning.device_plan import PRIVACY
from coterie_learning.privacy import Privacy
from coterie_wire.tensors import Float32, Tensors

every_kind = pytest.mark.parametrize("kind", PRIVACY.kinds.values(), ids=list(PRIVACY.kinds))
tensors = hnp.arrays(np.float32, hnp.array_shapes(max_dims=3, max_side=4), elements=st.floats(-1e4, 1e4, width=32))
updates = st.dictionaries(st.sampled_from(["bias", "weight", "zwölf"]), tensors, min_size=1)


@every_kind
@given(update=updates, seed=st.integers(0, 2**53))
@settings(max_examples=50)
def test_what_leaves_has_the_updates_shape_and_is_finite(kind: type[Privacy], update: Tensors, seed: int) -> None:
    protected = kind().protect(update, seed=seed)
    assert {name: (tensor.shape, tensor.dtype) for name, tensor in protected.items()} == {
        name: (tensor.shape, np.dtype(np.float32)) for name, tensor in update.items()
    }
    assert all(np.isfinite(tensor).all() for tensor in protected.values())


@every_kind
@given(update=updates, seed=st.integers(0, 2**53))
@settings(max_examples=50)
def test_the_same_seed_gives_the_same_and_the_update_stays(kind: type[Privacy], update: Tensors, seed: int) -> None:
    before = {name: tensor.copy() for name, tensor in update.items()}
    one, other = (kind().protect(update, seed=seed) for _ in range(2))
    for name, tensor in before.items():
        np.testing.assert_array_equal(update[name], tensor)
        np.testing.assert_array_equal(one[name], other[name])


@every_kind
@given(tensor=tensors)
@settings(max_examples=50)
def test_a_kind_that_leaves_everything_as_it_is_does(kind: type[Privacy], tensor: Float32) -> None:
    if kind().leaves_as_is():
        np.testing.assert_array_equal(kind().protect({"weight": tensor}, seed=1)["weight"], tensor)


@every_kind
def test_whoever_changes_updates_says_so(kind: type[Privacy]) -> None:
    huge: Tensors = {"weight": np.full(1000, 1e6, np.float32)}
    is_changed = not np.array_equal(kind().protect(huge, seed=1)["weight"], huge["weight"])
    assert is_changed is not kind().leaves_as_is()
