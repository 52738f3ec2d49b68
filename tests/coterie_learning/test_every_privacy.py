"""Every kind of slot `privacy`, on the device: what leaves has the update's shape, is finite, and follows the seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from coterie_learning.device_plan import PRIVACY
from coterie_learning.merge import Cohort
from coterie_learning.privacy import Privacy, ReleasedElements
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
    if kind.leaves_as_is:
        np.testing.assert_array_equal(kind().protect({"weight": tensor}, seed=1)["weight"], tensor)


@every_kind
def test_whoever_changes_updates_says_so(kind: type[Privacy]) -> None:
    huge: Tensors = {"weight": np.full(1000, 1e6, np.float32)}
    is_changed = not np.array_equal(kind().protect(huge, seed=1)["weight"], huge["weight"])
    assert is_changed is not kind.leaves_as_is


@every_kind
def test_what_is_spent_is_of_what_is_released(kind: type[Privacy]) -> None:
    spends = kind().spend(Cohort(10, 10)) is not None
    assert spends == (kind().releases != "nothing")
    if kind().stream() is not None:
        assert kind().releases == "sums"


@every_kind
@pytest.mark.parametrize(("start", "count"), [(0, 1), (4000, 200), (4999, 1), (77, 0)])
def test_an_element_is_released_alike_in_whatever_span(kind: type[Privacy], start: int, count: int) -> None:
    whole = np.arange(5000, dtype=np.int64)
    earlier = () if kind().stream() is None else (bytes(32), bytes(range(32)))

    def released(first: int, total: NDArray[np.int64]) -> NDArray[np.int64]:
        place = ReleasedElements("delta.a", first, 1 << 32)
        return kind().release(total, seed=bytes([7] * 32), place=place, cohort=Cohort(10, 10), earlier=earlier)

    np.testing.assert_array_equal(
        released(start, whole[start : start + count]), released(0, whole)[start : start + count]
    )


@every_kind
def test_a_bound_that_follows_updates_is_the_next_ones(kind: type[Privacy]) -> None:
    following = kind().next_bound([1.0, 2.0], seed=bytes(32))
    assert following is None or kind().bounded_by(following).bound() == following


@every_kind
def test_owners_are_told_how_updates_are_read_as_they_are(kind: type[Privacy]) -> None:
    """Of a kind that adds noise at the platform alone it reads the updates, whatever it releases of them."""
    as_it_is = "summed" if kind().masking() is not None else "noised" if kind.releases == "updates" else "readable"
    assert kind.readability == as_it_is
