import msgspec
import numpy as np
import pytest

from coterie_learning.codec.int8 import Int8
from coterie_learning.updates import join_update, split_update
from coterie_wire.bundle import ModelSpec, RunningMoments, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import encode_tensors, encoded_bytes

PLAIN = ModelSpec.of_classifier(
    inputs=(TensorSpec("x", "float32", (4,)),),
    classes=3,
    batch_size=2,
    parameters=(TensorSpec("w", "float32", (3, 4)),),
)
NORMED = msgspec.structs.replace(
    PLAIN, statistics=(RunningMoments(TensorSpec("n.mean", "float32", (4,)), TensorSpec("n.var", "float32", (4,))),)
)
DIFFERENCE = {"w": np.arange(12, dtype=np.float32).reshape(3, 4)}
STATISTICS = {"n.mean": np.arange(4, dtype=np.float32), "n.var": np.array([0, 1, 2, 1e-6], np.float32)}


def test_statistics_travel_exactly_beside_what_the_codec_made() -> None:
    encoded = Int8().encode(DIFFERENCE, seed=1).payload
    parts = split_update(join_update(STATISTICS, encoded), NORMED)
    assert bytes(parts.encoded) == encoded
    for name, tensor in STATISTICS.items():
        np.testing.assert_array_equal(parts.statistics[name], tensor)


def test_a_model_without_statistics_sends_the_codecs_bytes_alone() -> None:
    encoded = Int8().encode(DIFFERENCE, seed=1).payload
    assert join_update({}, encoded) == encoded
    assert split_update(encoded, PLAIN).encoded == encoded


@pytest.mark.parametrize(
    ("statistics", "code"),
    [
        ({"n.mean": STATISTICS["n.mean"], "n.var": np.full(4, -1, np.float32)}, "update.not_finite"),
        ({"n.mean": np.full(4, np.nan, np.float32), "n.var": STATISTICS["n.var"]}, "update.not_finite"),
        ({"n.mean": np.zeros(5, np.float32), "n.var": STATISTICS["n.var"]}, "update.malformed"),
        ({}, "update.malformed"),
    ],
    ids=["negative", "not a number", "another shape", "missing"],
)
def test_bad_statistics_are_refused(statistics: dict[str, np.ndarray], code: str) -> None:
    payload = join_update(statistics, Int8().encode(DIFFERENCE, seed=1).payload)
    with pytest.raises(WireError) as caught:
        split_update(payload, NORMED)
    assert caught.value.code == code


def test_the_size_of_a_file_is_known_before_it_is_made() -> None:
    specs = tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in STATISTICS.items())
    assert encoded_bytes(specs) == len(encode_tensors(STATISTICS))
