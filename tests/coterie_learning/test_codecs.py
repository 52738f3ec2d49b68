"""Codecs: laws that every kind keeps, and what int8 promises of its rounding."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from coterie_learning.codec import Codec, Encoded
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int4 import Int4
from coterie_learning.codec.int8 import Int8
from coterie_learning.codec.one_bit import OneBit
from coterie_learning.codec.sparse_levels import SparseLevels
from coterie_learning.codec.top_k import TopK
from coterie_learning.device_plan import CODEC
from coterie_learning.levels import SMALLEST_CHANNEL, round_tensor
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.payloads import row_spans
from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Float32, Tensors, encode_tensors, read_header
from tests.coterie_learning.merge.folding import folded

CODECS: tuple[Codec, ...] = (
    *(kind() for kind in CODEC.kinds.values()),
    Int8(granularity="tensor"),
    OneBit(feedback=True),
    SparseLevels(step=0.25, feedback=False),
    TopK(share=0.5, value="int8", feedback=False),
)
every_codec = pytest.mark.parametrize("codec", CODECS, ids=repr)

finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
moderate = st.floats(-1e3, 1e3, width=32, allow_subnormal=False)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)


def updates(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Tensors]:
    return st.dictionaries(
        st.text("abc.", min_size=1, max_size=4), hnp.arrays(np.float32, shapes, elements=numbers), max_size=3
    )


def specs_of(update: Tensors) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in update.items())


def random_update(shapes: Mapping[str, tuple[int, ...]], *, scale: float = 0.01) -> Tensors:
    source = np.random.default_rng(7)
    return {name: (source.standard_normal(shape) * scale).astype(np.float32) for name, shape in shapes.items()}


DIGITS_CNN = {
    "conv1.weight": (16, 1, 3, 3),
    "conv1.bias": (16,),
    "conv2.weight": (32, 16, 3, 3),
    "conv2.bias": (32,),
    "fc1.weight": (64, 256),
    "fc1.bias": (64,),
    "fc2.weight": (10, 64),
    "fc2.bias": (10,),
}
"""22,090 parameters."""
WIDE = {"wide": (3, SMALLEST_CHANNEL)}


@every_codec
@given(update=updates(finite), seed=st.integers(0, 2**53))
@settings(max_examples=30)
def test_an_update_comes_back_and_the_residual_is_the_rest(codec: Codec, update: Tensors, seed: int) -> None:
    encoded = codec.encode(update, seed=seed)
    decoded = codec.decode(encoded.payload, expected=specs_of(update))
    assert list(decoded) == list(update)
    for name, tensor in update.items():
        assert decoded[name].dtype == np.float32
        assert decoded[name].shape == encoded.residual[name].shape == tensor.shape
        rest = tensor.astype(np.float64) - decoded[name]
        largest = max(np.abs(numbers).max(initial=0).astype(np.float64) for numbers in (tensor, decoded[name]))
        np.testing.assert_allclose(encoded.residual[name], rest, rtol=0, atol=largest * 1e-6 + 1e-44)


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec.summable], ids=repr)
@given(update=updates(finite), seed=st.integers(0, 2**53))
@settings(max_examples=30)
def test_codes_never_lose_more_than_the_largest_number(codec: Codec, update: Tensors, seed: int) -> None:
    residual = codec.encode(update, seed=seed).residual
    for name, tensor in update.items():
        assert np.all(np.abs(residual[name]) <= np.abs(tensor).max(initial=0))


@pytest.mark.parametrize("codec", [Int8(), Int4(), SparseLevels()], ids=repr)
@given(update=updates(moderate), seed=st.integers(0, 2**53))
@settings(max_examples=30)
def test_what_is_rounded_comes_back_within_one_scale(codec: Codec, update: Tensors, seed: int) -> None:
    found = codec.open(InMemory(codec.encode(update, seed=seed).payload), expected=specs_of(update))
    for name, tensor in update.items():
        if tensor.size:
            codes, scales = found.coded(name, 0, tensor.size)
            assert (scales >= 0).all()
            rest = tensor.reshape(codes.shape) - codes * scales[:, None].astype(np.float64)
            assert np.all(np.abs(rest) <= 1.0001 * scales[:, None] + 1e-42)  # subnormal steps are coarse


@every_codec
@given(update=updates(moderate), seed=st.integers(0, 2**53))
@settings(max_examples=30)
def test_a_payload_is_as_large_as_was_said_before(codec: Codec, update: Tensors, seed: int) -> None:
    said = codec.payload_bytes(specs_of(update))
    assert said.least <= len(codec.encode(update, seed=seed).payload) <= said.most
    assert said.least <= said.usual <= said.most


@every_codec
def test_sums_are_the_same_bits_in_any_order_and_in_blocks(codec: Codec) -> None:
    shapes = {"a": (3, 50), "b": (7,), "c": (20, 20)}
    base = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    updates = [random_update(shapes, scale=scale) for scale in (0.01, 0.02, 0.05)]
    samples = (3, 1, 2)
    whole = folded(FedAvg(), base, updates, samples, codec=codec).parameters
    turned = folded(FedAvg(), base, updates[::-1], samples[::-1], codec=codec, block=37).parameters
    for name, tensor in whole.items():
        np.testing.assert_array_equal(turned[name], tensor)
        given = [codec.encode(update, seed=7) for update in updates]
        sent = [update[name] - one.residual[name] for update, one in zip(updates, given, strict=True)]
        np.testing.assert_allclose(tensor, np.average(sent, axis=0, weights=samples), rtol=0, atol=1e-6)


@every_codec
def test_how_large_an_update_is_follows_from_its_payload(codec: Codec) -> None:
    update = random_update(DIGITS_CNN)
    payload = codec.encode(update, seed=2).payload
    decoded = codec.decode(payload, expected=specs_of(update))
    extent = codec.open(InMemory(payload), expected=specs_of(update)).extent()
    norm = math.sqrt(sum(float(np.sum(tensor.astype(np.float64) ** 2)) for tensor in decoded.values()))
    assert extent.norm == pytest.approx(norm, rel=1e-4)
    assert max(float(np.abs(tensor).max()) for tensor in decoded.values()) <= extent.bound


@every_codec
@given(update=updates(moderate), seed=st.integers(0, 2**53))
@settings(max_examples=30)
def test_spans_are_parts_of_the_whole(codec: Codec, update: Tensors, seed: int) -> None:
    payload = codec.encode(update, seed=seed).payload
    decoded = codec.decode(payload, expected=specs_of(update))
    found = codec.open(InMemory(payload), expected=specs_of(update))
    for name, tensor in update.items():
        for most in (1, 3, 7):
            spans = [found.numbers(name, *span) for span in row_spans(tensor.shape, most)]
            np.testing.assert_array_equal(np.concatenate([np.empty(0), *spans]), decoded[name].reshape(-1))


@every_codec
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7), cut=st.integers(0, 10**6))
@settings(max_examples=60)
def test_a_payload_with_a_flipped_bit_is_refused_or_stands_for_finite_numbers(
    codec: Codec, place: int, bit: int, cut: int
) -> None:
    update = random_update(WIDE)
    payload = bytearray(codec.encode(update, seed=0).payload)
    payload[place % len(payload)] ^= 1 << bit
    for hostile in (bytes(payload), bytes(payload[: cut % len(payload)])):
        try:
            decoded = codec.decode(hostile, expected=specs_of(update))
        except WireError:
            continue
        assert all(np.isfinite(decoded[name]).all() and decoded[name].shape == update[name].shape for name in update)


@every_codec
def test_the_same_update_and_seed_give_the_same_bytes(codec: Codec) -> None:
    update = random_update(DIGITS_CNN)
    backwards = dict(reversed(update.items()))
    assert codec.encode(update, seed=3).payload == codec.encode(backwards, seed=3).payload


@every_codec
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_an_update_that_is_not_finite_does_not_leave(codec: Codec, number: float) -> None:
    with pytest.raises(WireError) as caught:
        codec.encode({"a": np.array([0, number], np.float32)}, seed=0)
    assert caught.value.code == "update.not_finite"


def refusal(codec: Codec, payload: bytes, expected: tuple[TensorSpec, ...]) -> str:
    with pytest.raises(WireError) as caught:
        codec.decode(payload, expected=expected)
    return caught.value.code


@every_codec
def test_a_payload_that_does_not_fit_is_refused(codec: Codec) -> None:
    update = random_update(WIDE)
    payload = codec.encode(update, seed=0).payload
    assert refusal(codec, payload[:-1], specs_of(update)) == "update.malformed"
    assert refusal(codec, payload + b"\0", specs_of(update)) == "update.malformed"
    assert refusal(codec, payload, (TensorSpec("wide", "float32", (SMALLEST_CHANNEL, 3)),)) == "update.wrong_shape"
    assert refusal(codec, payload, ()) == "update.wrong_shape"


@every_codec
def test_another_codecs_payload_is_refused(codec: Codec) -> None:
    update = random_update(WIDE)
    assert len({codec.encode(update, seed=0).payload for codec in CODECS}) == len(CODECS)
    for other in CODECS:
        if other != codec:
            assert refusal(codec, other.encode(update, seed=0).payload, specs_of(update)) == "update.wrong_codec"
    assert refusal(codec, encode_tensors(update), specs_of(update)) == "update.wrong_codec"


@every_codec
@given(st.binary(max_size=100))
@settings(max_examples=30)
def test_arbitrary_bytes_raise_only_wire_errors(codec: Codec, payload: bytes) -> None:
    with pytest.raises(WireError):
        codec.decode(payload, expected=(TensorSpec("a", "float32", (2,)),))


def test_float32_refuses_numbers_that_are_not_finite() -> None:
    codec = Float32Codec()
    payload = codec.pack({"a": np.array([np.nan], np.float32)})
    assert refusal(codec, payload, (TensorSpec("a", "float32", (1,)),)) == "update.not_finite"


@pytest.mark.parametrize("scale", [np.nan, np.inf, -np.inf, -1e-9, 3.4e38])
def test_int8_refuses_a_scale_that_could_stand_for_such_numbers(scale: float) -> None:
    codec = Int8()
    payload = codec.pack({"code.a": np.array([-128], np.int8), "scale": np.array([scale], np.float32)})
    assert refusal(codec, payload, (TensorSpec("a", "float32", (1,)),)) == "update.not_finite"


def test_a_parameter_may_be_called_scale() -> None:
    update: Tensors = {"scale": np.ones(2, np.float32), "code.scale": np.zeros(3, np.float32)}
    decoded = Int8().decode(Int8().encode(update, seed=0).payload, expected=specs_of(update))
    np.testing.assert_allclose(decoded["scale"], 1, rtol=1 / 100)
    np.testing.assert_array_equal(decoded["code.scale"], 0)


@pytest.mark.parametrize("granularity", ["tensor", "channel"])
def test_int8_is_unbiased(granularity: str) -> None:
    codec = CODEC.parse({"kind": "int8", "granularity": granularity})
    update = random_update(WIDE)
    specs = specs_of(update)
    draws = [codec.decode(codec.encode(update, seed=seed).payload, expected=specs)["wide"] for seed in range(500)]
    step = np.abs(update["wide"]).max() / 127
    # The standard deviation of one draw is at most half a step; of the mean of 500, a 45th of it.
    assert np.abs(np.mean(draws, axis=0, dtype=np.float64) - update["wide"]).max() < 5 * step / 2 / np.sqrt(500)


@given(update=updates(finite), seed=st.integers(0, 2**53))
@settings(max_examples=30)
def test_int8_comes_back_within_a_112th_of_the_largest(update: Tensors, seed: int) -> None:
    decoded = Int8().decode(Int8().encode(update, seed=seed).payload, expected=specs_of(update))
    for name, tensor in update.items():
        largest = np.abs(tensor).max(initial=0).astype(np.float64)
        # The largest float32 saturates at 127/128 of itself; subnormal steps are coarse.
        assert np.all(np.abs(tensor.astype(np.float64) - decoded[name]) <= largest * 1.01 / 112 + 1e-43)


def test_int8_codes_zero_exactly() -> None:
    update: Tensors = {"a": np.array([0, -2.54, 0, 2.54], np.float32), "zeros": np.zeros((2, 2), np.float32)}
    for seed in range(20):
        decoded = Int8().decode(Int8().encode(update, seed=seed).payload, expected=specs_of(update))
        np.testing.assert_array_equal(decoded["a"][[0, 2]], 0)
        np.testing.assert_allclose(decoded["a"], update["a"], rtol=1 / 112)
        np.testing.assert_array_equal(decoded["zeros"], 0)


@given(largest=st.floats(2.0**-100, 2.0**100, width=32), levels=st.sampled_from([7, 127]))
def test_a_scale_has_four_significant_bits_and_is_an_eighth_coarser_at_most(largest: float, levels: int) -> None:
    (scale,) = round_tensor(np.array([largest], np.float32), levels, "tensor", seed=0, name="a").scales
    fraction, _ = math.frexp(scale)
    assert fraction * 16 == int(fraction * 16)
    exact = float(np.float32(largest) / np.float32(levels))
    assert exact <= scale <= exact * (1 + 1 / 8)


def test_a_channels_scale_is_its_own() -> None:
    wide: Float32 = np.ones((2, SMALLEST_CHANNEL), np.float32)
    wide[0] *= 1e-4
    update = {"wide": wide}
    decoded = Int8().decode(Int8().encode(update, seed=0).payload, expected=specs_of(update))
    np.testing.assert_allclose(decoded["wide"], wide, rtol=1 / 100)


@given(channels=st.integers(0, 40), width=st.integers(0, 2 * SMALLEST_CHANNEL))
@settings(max_examples=30)
def test_scales_add_at_most_a_thirty_second_to_the_codes(channels: int, width: int) -> None:
    header = read_header(Int8().encode({"a": np.ones((channels, width), np.float32)}, seed=0).payload)
    (scales,) = header.specs["scale"].shape
    assert scales == 1 or scales * 4 <= channels * width / 32


@pytest.mark.parametrize("granularity", ["tensor", "channel"])
def test_int8_takes_at_most_27_percent_of_float32_on_a_small_cnn(granularity: str) -> None:
    update = random_update(DIGITS_CNN)
    plain = Float32Codec().encode(update, seed=0).payload
    coded = CODEC.parse({"kind": "int8", "granularity": granularity}).encode(update, seed=0).payload
    assert len(coded) <= 0.27 * len(plain)
    assert len(coded) <= 0.27 * 4 * sum(tensor.size for tensor in update.values())


def test_error_feedback_lets_what_is_below_one_step_arrive() -> None:
    codec = Int8(granularity="tensor")
    update: Tensors = {"a": np.array([1.0, 0.001], np.float32)}
    residual: Tensors = {"a": np.zeros(2, np.float32)}
    arrived = np.zeros(2)
    for seed in range(200):
        encoded = codec.encode({"a": update["a"] + residual["a"]}, seed=seed)
        arrived += codec.decode(encoded.payload, expected=specs_of(update))["a"]
        residual = encoded.residual
    # What has not arrived is the residual: less than one step, however many updates were sent.
    np.testing.assert_allclose(arrived, 200 * update["a"].astype(np.float64), atol=1.1 / 127)


def test_a_subclass_of_a_lossless_codec_that_encodes_otherwise_is_not_taken_for_lossless() -> None:
    class Halved(Float32Codec, frozen=True, tag="halved"):
        def encode(self, update: Tensors, *, seed: int) -> Encoded:
            return super().encode({name: tensor / 2 for name, tensor in update.items()}, seed=seed)

    class Renamed(Float32Codec, frozen=True, tag="renamed"):
        pass

    assert (Float32Codec.exact, Renamed.exact, Halved.exact) == (True, True, False)
