import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.codec.one_bit import OneBit
from coterie_learning.codec.sparse_levels import SparseLevels
from coterie_learning.fold import Aggregation, CountedUpdate, fold_in_memory
from coterie_learning.heads import pick, place
from coterie_learning.local import DELTA, Local
from coterie_learning.local.distill import Distill
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge import Finished, Float64, ServerState
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.update_files import Contents, UpdateFile
from coterie_learning.updates import join_update
from coterie_wire.bundle import Head, ModelSpec, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory, open_source
from coterie_wire.tensors import Tensors

MODEL = ModelSpec.of_classifier(
    inputs=(TensorSpec("x", "float32", (4,)),),
    classes=5,
    batch_size=2,
    parameters=(
        TensorSpec("body", "float32", (3, 200)),
        TensorSpec("weight", "float32", (5, 3)),
        TensorSpec("bias", "float32", (5,)),
    ),
    head=Head("weight", "bias"),
)
CODECS = (Float32Codec(), Int8(), OneBit(), SparseLevels(step=1))


def numbers(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {spec.name: rng.standard_normal(spec.shape, dtype=np.float32) for spec in MODEL.parameters}


@pytest.mark.parametrize("codec", CODECS, ids=repr)
@pytest.mark.parametrize(
    "local",
    [Sgd(), Distill(head="seen"), Distill(head="seen", body="frozen"), Distill(head="all", body="frozen")],
    ids=repr,
)
def test_spans_are_those_of_the_whole_update_with_zeros_where_nothing_was_trained(codec: Codec, local: Local) -> None:
    scope = local.scope()
    classes = (1, 4) if scope.head == "seen" else ()
    part = pick(numbers(1), MODEL, scope, classes)
    payload = codec.encode(part, seed=1).payload
    file = Contents(MODEL, codec, local).open(InMemory(payload), classes)
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in part.items())
    whole = place(codec.decode(payload, expected=specs), MODEL, scope, classes)
    for spec in MODEL.parameters:
        row = int(np.prod(spec.shape[1:]))
        for start, stop in ((0, spec.shape[0] * row), (row, 3 * row), (row, row + (row + 1) // 2)):
            found = file.numbers(spec.name, start, stop)
            np.testing.assert_array_equal(found, whole[spec.name].reshape(-1)[start:stop])
            coded = file.coded(spec.name, start, stop)
            if coded is not None:
                np.testing.assert_allclose((coded.codes * coded.scales[:, None]).reshape(-1), found, rtol=1e-6)


class Two(Sgd, frozen=True, tag="two"):
    """Sends something besides the difference."""

    parts: ClassVar[tuple[str, ...]] = (DELTA, "control")


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_each_part_is_read_by_its_name_and_all_are_judged(codec: Codec) -> None:
    parts = {DELTA: numbers(5), "control": numbers(6)}
    payload = join_update({}, *(codec.encode(part, seed=1).payload for part in parts.values()))
    contents = Contents(MODEL, codec, Two())
    file = contents.open(InMemory(payload), ())
    for part, tensors in parts.items():
        decoded = codec.decode(codec.encode(tensors, seed=1).payload, expected=MODEL.parameters)
        for name, tensor in decoded.items():
            np.testing.assert_array_equal(file.numbers(name, 0, tensor.size, part=part), tensor.reshape(-1))
    single = [
        Contents(MODEL, codec, Sgd()).open(InMemory(codec.encode(one, seed=1).payload), ()) for one in parts.values()
    ]
    assert file.extent().norm == pytest.approx(np.hypot(*(one.extent().norm for one in single)))
    for damaged in (payload[:-1], payload[:50], codec.encode(parts[DELTA], seed=1).payload):
        with pytest.raises(WireError):
            contents.open(InMemory(damaged), ())


def test_the_parts_are_folded_each_by_itself() -> None:
    seen: dict[str, np.ndarray] = {}

    class Watching(FedAvg, frozen=True, tag="watching"):
        def finish(self, aggregate: Mapping[str, Float64], base: Tensors, state: ServerState) -> Finished:
            seen.update(aggregate)
            return super().finish(aggregate, base, state)

    contents = Contents(MODEL, Float32Codec(), Two())

    @contextmanager
    def opened_update(seed: int) -> Iterator[UpdateFile]:
        payload = join_update({}, *(Float32Codec().encode(numbers(seed + one), seed=1).payload for one in (0, 100)))
        yield contents.open(InMemory(payload), ())

    counted = [CountedUpdate(partial(opened_update, seed), weight) for seed, weight in ((1, 1), (2, 3))]
    folded = fold_in_memory(Watching(), MODEL.parameters, counted, numbers(0), None, Aggregation(parts=Two().parts))
    for name in numbers(0):
        delta, control = ((numbers(1 + at)[name] + 3.0 * numbers(2 + at)[name]) / 4 for at in (0, 100))
        np.testing.assert_allclose(folded.parameters[name], numbers(0)[name] + delta, rtol=0, atol=1e-6)
        np.testing.assert_allclose(seen[f"control.{name}"], control.reshape(-1), rtol=0, atol=1e-6)


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_the_extent_is_that_of_the_decoded_update(codec: Codec) -> None:
    payload = codec.encode(numbers(2), seed=1).payload
    decoded = codec.decode(payload, expected=MODEL.parameters)
    extent = Contents(MODEL, codec, Sgd()).open(InMemory(payload), ()).extent()
    assert extent.norm == pytest.approx(np.sqrt(sum((one.astype(float) ** 2).sum() for one in decoded.values())))
    assert max(np.abs(one).max() for one in decoded.values()) <= extent.bound


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_what_could_overflow_a_sum_is_refused(codec: Codec) -> None:
    huge = {**numbers(3), "body": np.full((3, 200), 128, np.float32)}
    file = Contents(MODEL, codec, Sgd()).open(InMemory(codec.encode(huge, seed=1).payload), ())
    with pytest.raises(WireError) as caught:
        file.extent()
    assert caught.value.code == "update.out_of_range"


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_a_large_update_is_looked_through_in_little_memory(codec: Codec, tmp_path: Path) -> None:
    large = ModelSpec.of_classifier(
        inputs=(), classes=2, batch_size=1, parameters=(TensorSpec("w", "float32", (1024, 4096)),)
    )
    tensor = np.random.default_rng(4).standard_normal((1024, 4096), dtype=np.float32)
    path = tmp_path / "update"
    path.write_bytes(codec.encode({"w": tensor}, seed=1).payload)
    tracemalloc.start()
    try:
        with open_source(path) as source:
            Contents(large, codec, Sgd()).open(source, ()).extent()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 2 << 20
