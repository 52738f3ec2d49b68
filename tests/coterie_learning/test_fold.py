"""Sums of stored updates, whose tensors are longer than what is read at once."""

from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int4 import Int4
from coterie_learning.codec.int8 import Int8
from coterie_learning.exact_sum import GRID, TOGETHER
from coterie_learning.fold import READ, CountedUpdate, ElementSpan, Int64, blocks, fold_in_memory, summed
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge import Aggregate, Finished, ServerState
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.update_files import Contents, UpdateFile
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Float32, Tensors

MODEL = ModelSpec.of_classifier(
    inputs=(TensorSpec("x", "float32", (4,)),),
    classes=5,
    batch_size=2,
    parameters=(
        TensorSpec("rows", "float32", (700, 150)),
        TensorSpec("long_rows", "float32", (2, READ + 5)),
        TensorSpec("vector", "float32", (READ + 7,)),
        TensorSpec("bias", "float32", (5,)),
    ),
)


def opened(codec: Codec, seed: int) -> UpdateFile:
    rng = np.random.default_rng(seed)
    noise: Mapping[str, Float32] = {
        spec.name: rng.standard_normal(spec.shape, dtype=np.float32) for spec in MODEL.parameters
    }
    return Contents(MODEL, codec, Sgd()).open(InMemory(codec.encode(noise, seed=seed).payload), ())


def levels(file: UpdateFile, name: str, size: int) -> Int64:
    """The update's numbers in steps of the grid, read in one piece where that is possible."""
    coded = file.coded(name, 0, size)
    if coded is None:
        return np.rint(file.numbers(name, 0, size) / GRID).astype(np.int64)
    scales = np.rint(coded.scales.astype(np.float64) / GRID).astype(np.int64)
    return (coded.codes.astype(np.int64) * scales[:, None]).reshape(-1)


@pytest.mark.parametrize("codec", [Float32Codec(), Int8(), Int4()])
@pytest.mark.parametrize("most", [1000, READ, 1 << 20])
def test_a_sum_is_that_of_integers_however_the_tensors_are_divided(codec: Codec, most: int) -> None:
    files = [opened(codec, seed) for seed in range(3)]
    found = [CountedUpdate(lambda file=file: nullcontext(file), 100 + place) for place, file in enumerate(files)]
    for spans in blocks(MODEL.parameters, most):
        for name, total in summed("delta", spans, found).items():
            size = int(np.prod(next(spec.shape for spec in MODEL.parameters if spec.name == name)))
            whole = sum(levels(file, name, size) * one.weight for file, one in zip(files, found, strict=True))
            np.testing.assert_array_equal(total, np.asarray(whole)[spans[name].start : spans[name].stop])


def test_more_updates_than_are_added_together() -> None:
    files = [opened(Int8(), seed) for seed in range(2)]
    found = [CountedUpdate(lambda file=file: nullcontext(file), 7) for file in files * TOGETHER]
    (spans,) = blocks(MODEL.parameters[3:], READ)
    expected = sum(levels(file, "bias", 5) for file in files) * 7 * TOGETHER
    np.testing.assert_array_equal(summed("delta", spans, found)["bias"], expected)


@given(rows=st.integers(1, 9), row=st.integers(1, 9), most=st.integers(1, 30), piece=st.integers(1, 30))
def test_pieces_are_whole_rows_or_parts_of_one(rows: int, row: int, most: int, piece: int) -> None:
    spec = TensorSpec("a", "float32", (rows, row))
    seen = 0
    for spans in blocks([spec], most):
        (span,) = spans.values()
        assert isinstance(span, ElementSpan)
        for start, stop in span.divided(piece):
            assert start == seen and 0 < stop - start <= piece
            assert start // row == (stop - 1) // row or (start % row == 0 and stop % row == 0)
            seen = stop
    assert seen == rows * row


class Shortened(FedAvg, frozen=True, tag="shortened"):
    """Gives fewer numbers than there are, which would be spread over the others."""

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        return Finished({name: tensor[:1] for name, tensor in base.items()}, state)


def test_a_merge_that_makes_another_shape_is_refused() -> None:
    begun = {spec.name: np.zeros(spec.shape, np.float32) for spec in MODEL.parameters}
    counted = [CountedUpdate(partial(nullcontext, opened(Float32Codec(), 0)), 1)]
    with pytest.raises(ValueError, match=r"merge shortened makes .* of rows"):
        fold_in_memory(Shortened(), MODEL.parameters, counted, begun, None)
