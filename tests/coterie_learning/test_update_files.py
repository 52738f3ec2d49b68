import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.heads import pick, place
from coterie_learning.local import WHOLE, Scope
from coterie_learning.update_files import Contents
from coterie_wire.bundle import Head, ModelSpec, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory, opened

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
CODECS = (Float32Codec(), Int8())


def numbers(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {spec.name: rng.standard_normal(spec.shape, dtype=np.float32) for spec in MODEL.parameters}


@pytest.mark.parametrize("codec", CODECS, ids=repr)
@pytest.mark.parametrize("scope", [WHOLE, Scope(head="seen"), Scope(head="seen", body="frozen"), Scope(body="frozen")])
def test_spans_are_those_of_the_whole_update_with_zeros_where_nothing_was_trained(codec: Codec, scope: Scope) -> None:
    classes = (1, 4) if scope.head == "seen" else ()
    part = pick(numbers(1), MODEL, scope, classes)
    payload = codec.encode(part, seed=1).payload
    file = Contents(MODEL, codec, scope).open(InMemory(payload), classes)
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


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_the_extent_is_that_of_the_decoded_update(codec: Codec) -> None:
    payload = codec.encode(numbers(2), seed=1).payload
    decoded = codec.decode(payload, expected=MODEL.parameters)
    extent = Contents(MODEL, codec, WHOLE).open(InMemory(payload), ()).extent()
    assert extent.norm == pytest.approx(np.sqrt(sum((one.astype(float) ** 2).sum() for one in decoded.values())))
    assert max(np.abs(one).max() for one in decoded.values()) <= extent.bound


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_what_could_overflow_a_sum_is_refused(codec: Codec) -> None:
    huge = {**numbers(3), "body": np.full((3, 200), 128, np.float32)}
    file = Contents(MODEL, codec, WHOLE).open(InMemory(codec.encode(huge, seed=1).payload), ())
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
        with opened(path) as source:
            Contents(large, codec, WHOLE).open(source, ()).extent()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 2 << 20
