"""Versions as differences: devices come by the published bits, and nothing that an encoding loses is lost for good."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.sparse_levels import SparseLevels
from coterie_learning.device_plan import CODEC
from coterie_learning.differences import apply_difference, make_difference
from coterie_learning.down.difference import Difference
from coterie_learning.plan import parse_plan
from coterie_learning.updates import join_update
from coterie_wire.bundle import ModelSpec, RunningMoments, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors

SPECS = (TensorSpec("w", "float32", (40, 50)), TensorSpec("b", "float32", (40,)))
MODEL = ModelSpec.of_classifier(inputs=(TensorSpec("x", "float32", (50,)),), classes=40, batch_size=4, parameters=SPECS)
NORMALISED = msgspec.structs.replace(
    MODEL,
    statistics=(RunningMoments(TensorSpec("mean", "float32", (3,)), TensorSpec("variance", "float32", (3,))),),
)
every_codec = pytest.mark.parametrize("codec", [kind() for kind in CODEC.kinds.values()], ids=repr)


def tensors(seed: int, scale: float = 1.0) -> Tensors:
    source = np.random.default_rng(seed)
    return {spec.name: (source.standard_normal(spec.shape) * scale).astype(np.float32) for spec in SPECS}


def moved(base: Tensors, seed: int) -> Tensors:
    return {name: tensor + step for (name, tensor), step in zip(base.items(), tensors(seed, 0.1).values(), strict=True)}


@every_codec
@given(seed=st.integers(0, 1000))
def test_a_device_comes_by_the_published_bits(codec: Codec, seed: int) -> None:
    base = tensors(seed)
    made = make_difference(codec, MODEL, base=base, merged=moved(base, seed + 1), residual={})
    found = apply_difference(made.payload, MODEL, base)
    for name in base:
        assert found[name].tobytes() == made.version[name].tobytes()


@every_codec
def test_the_same_merge_makes_the_same_bytes(codec: Codec) -> None:
    base, residual = tensors(1), tensors(3, 0.01)
    first, again = (
        make_difference(codec, MODEL, base=base, merged=moved(base, 2), residual=residual) for _ in range(2)
    )
    assert first.payload == again.payload


def test_of_exact_differences_the_version_is_what_was_merged() -> None:
    """The degenerate case, of numbers whose sums are exact."""
    base: Tensors = {name: np.round(tensor * 64) / np.float32(64) for name, tensor in tensors(1).items()}
    merged: Tensors = {name: tensor + np.float32(0.25) for name, tensor in base.items()}
    made = make_difference(Float32Codec(), MODEL, base=base, merged=merged, residual={})
    for name in base:
        np.testing.assert_array_equal(made.version[name], merged[name])
        np.testing.assert_array_equal(made.residual[name], 0)


@pytest.mark.parametrize("feedback", [True, False])
def test_without_feedback_versions_fall_behind(feedback: bool) -> None:
    """The negative control: what is below half a step in every round never reaches the devices."""
    codec, version = SparseLevels(step=3.0, feedback=feedback), tensors(1)
    step, residual, begun = tensors(2, 0.01), {}, tensors(1)
    for _ in range(60):
        merged = {name: version[name] + step[name] for name in step}
        made = make_difference(codec, MODEL, base=version, merged=merged, residual=residual)
        version, residual = made.version, made.residual
    wanted = {name: begun[name] + 60 * step[name] for name in step}
    missing = np.linalg.norm(version["w"] - wanted["w"]) / np.linalg.norm(60 * step["w"])
    assert (missing < 0.1) == feedback


def test_statistics_travel_whole() -> None:
    base = {**tensors(1), "mean": np.zeros(3, np.float32), "variance": np.ones(3, np.float32)}
    merged = {**moved(tensors(1), 2), "mean": np.full(3, 0.5, np.float32), "variance": np.full(3, 2, np.float32)}
    made = make_difference(SparseLevels(), NORMALISED, base=base, merged=merged, residual={})
    found = apply_difference(made.payload, NORMALISED, base)
    np.testing.assert_array_equal(found["mean"], merged["mean"])
    np.testing.assert_array_equal(found["variance"], merged["variance"])


@given(st.binary(max_size=200))
def test_what_is_no_difference_is_refused(payload: bytes) -> None:
    with pytest.raises(WireError):
        apply_difference(payload, MODEL, tensors(1))


def test_a_difference_without_a_codec_or_of_an_unknown_one_is_refused() -> None:
    base = tensors(1)
    plain = make_difference(Float32Codec(), MODEL, base=base, merged=moved(base, 2), residual={}).payload
    for hostile in (plain.replace(b'float32\\"', b'floot32\\"'), plain.replace(b'"codec"', b'"kodec"')):
        assert hostile != plain
        with pytest.raises(WireError):
            apply_difference(join_update({}, hostile), MODEL, base)


def test_plans_say_how_versions_travel() -> None:
    assert parse_plan({}).down.codec() is None
    plan = parse_plan({"down": {"kind": "difference", "encoding": {"kind": "int8"}}})
    assert plan.down == Difference(encoding=CODEC.parse({"kind": "int8"}))
    for refused in (
        {"down": {"kind": "difference", "encoding": {"kind": "float32"}}},
        {"down": {"kind": "difference"}, "local": {"kind": "distill"}, "merge": {"kind": "distill"}},
    ):
        with pytest.raises(WireError) as caught:
            parse_plan(refused)
        assert caught.value.code == "plan.invalid"
