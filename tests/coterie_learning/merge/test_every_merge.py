"""What every merge promises that folds updates. Kinds are found, not listed."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.exact_sum import GRID
from coterie_learning.fold import blocks
from coterie_learning.merge import Merge, ServerState
from coterie_learning.payloads import row_spans
from coterie_learning.plan import MERGE
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors
from tests.coterie_learning.merge.folding import folded
from tests.coterie_learning.merge.remembering import Remembering
from tests.examples import examples

FOLDS: Sequence[Merge] = [Remembering(), *(kind() for kind in MERGE.kinds.values() if kind.reads != "models")]
every_merge = pytest.mark.parametrize("merge", FOLDS, ids=lambda merge: merge.name)
SHAPES = {"w": (5, 7), "b": (5,), "scalar": (), "none": (0, 3)}


def drawn(seed: int, scale: float = 1.0) -> Tensors:
    rng = np.random.default_rng(seed)
    return {name: np.asarray(scale * rng.standard_normal(shape), np.float32) for name, shape in SHAPES.items()}


def same(left: Tensors, right: Tensors) -> bool:
    return left.keys() == right.keys() and all(left[name].tobytes() == right[name].tobytes() for name in left)


def same_state(left: ServerState, right: ServerState) -> bool:
    return (
        left.notes == right.notes
        and left.tensors.keys() == right.tensors.keys()
        and all(same(left.tensors[kind], right.tensors[kind]) for kind in left.tensors)
    )


@every_merge
@settings(max_examples=examples(10, 30))  # of each kind, the same for all
@given(seed=st.integers(0, 2**32), count=st.integers(1, 20))
def test_the_order_of_updates_changes_no_bit(merge: Merge, seed: int, count: int) -> None:
    updates = [drawn(seed + number, 0.1) for number in range(count)]
    samples = [1 + (seed + number) % 9 for number in range(count)]
    order = random.Random(seed).sample(range(count), count)
    for codec in (Float32Codec(), Int8()):
        one = folded(merge, drawn(seed), updates, samples, codec=codec)
        other = folded(merge, drawn(seed), [updates[at] for at in order], [samples[at] for at in order], codec=codec)
        assert same(one.parameters, other.parameters)
        assert same_state(one.state, other.state)


@every_merge
@pytest.mark.parametrize("block", [1, 3, 7, 20, 36])
def test_the_size_of_a_block_changes_no_bit(merge: Merge, block: int) -> None:
    updates = [drawn(number, 0.1) for number in range(1, 6)]
    whole = blocked = folded(merge, drawn(0), updates)
    for _ in range(2):
        whole = folded(merge, whole.parameters, updates, state=whole.state)
        blocked = folded(merge, blocked.parameters, updates, state=blocked.state, block=block)
    assert same(whole.parameters, blocked.parameters)
    assert same_state(whole.state, blocked.state)


@every_merge
def test_updates_that_say_nothing_move_nothing_at_first(merge: Merge) -> None:
    nothing = {name: np.zeros_like(tensor) for name, tensor in drawn(0).items()}
    assert same(folded(merge, drawn(0), [nothing] * 3).parameters, drawn(0))


@every_merge
def test_equal_updates_are_merged_as_one_of_them(merge: Merge) -> None:
    one = folded(merge, drawn(0), [drawn(1, 0.1)], [4]).parameters
    for name, tensor in folded(merge, drawn(0), [drawn(1, 0.1)] * 5, [1, 2, 3, 4, 5]).parameters.items():
        np.testing.assert_allclose(tensor, one[name], rtol=1e-6, atol=1e-6)


@every_merge
def test_what_is_remembered_is_in_the_shape_of_the_parameters_and_the_same_again(merge: Merge) -> None:
    first = folded(merge, drawn(0), [drawn(1), drawn(2)])
    assert set(first.state.tensors) == set(merge.init({}).tensors)
    for tensors in first.state.tensors.values():
        assert {name: tensor.shape for name, tensor in tensors.items()} == SHAPES
        assert all(tensor.dtype == np.float32 for tensor in tensors.values())
    one, other = (folded(merge, first.parameters, [drawn(3)], state=first.state) for _ in range(2))
    assert same(one.parameters, other.parameters)
    assert same_state(one.state, other.state)


@pytest.mark.parametrize("merge", [merge for merge in FOLDS if merge.reads == "sums"], ids=lambda merge: merge.name)
def test_a_sum_sees_nothing_of_the_updates_but_their_mean(merge: Merge) -> None:
    mean = folded(merge, drawn(0), [drawn(1, 0.25)] * 2).parameters
    apart = [{name: tensor + np.float32(sign) for name, tensor in drawn(1, 0.25).items()} for sign in (1, -1)]
    for name, tensor in folded(merge, drawn(0), apart).parameters.items():
        np.testing.assert_allclose(tensor, mean[name], rtol=0, atol=1e-6 + GRID)


@given(
    shapes=st.lists(st.lists(st.integers(0, 9), max_size=3).map(tuple), min_size=1, max_size=6), most=st.integers(1, 40)
)
def test_blocks_hold_each_parameter_once_in_whole_rows_or_parts_of_one(
    shapes: list[tuple[int, ...]], most: int
) -> None:
    specs = [TensorSpec(str(place), "float32", shape) for place, shape in enumerate(shapes)]
    seen = {spec.name: [] for spec in specs}
    for block in blocks(specs, most):
        assert sum(span.stop - span.start for span in block.values()) <= most
        for name, span in block.items():
            seen[name] += range(span.start, span.stop)
            row = int(np.prod(specs[int(name)].shape[1:]))
            assert (span.start % row == 0 == span.stop % row) or span.start // row == (span.stop - 1) // row
    assert seen == {spec.name: list(range(int(np.prod(spec.shape)))) for spec in specs}
    assert all(stop > start for spec in specs for start, stop in row_spans(spec.shape, most))
