import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_learning.teacher import Teacher, quantise_weights, restore_weights, sign_teacher, verify_teacher
from coterie_wire.bundle import BlobRef, TensorSpec, new_signing_key, verify_key_of, verify_manifest
from coterie_wire.errors import WireError
from coterie_wire.tensors import encode_tensors
from coterie_wire.version import PROTOCOL

SPECS = (TensorSpec("kernel", "float32", (5, 3, 2)), TensorSpec("bias", "float32", (5,)))
KEY = new_signing_key()
TEACHER = Teacher(PROTOCOL, "p", "v", (), 3, SPECS, BlobRef.of_bytes(b"a"), BlobRef.of_bytes(b"b"))


@given(st.integers(0, 99), st.floats(1e-6, 1e6))
def test_weights_come_back_within_half_a_step_of_their_row(seed: int, scale: float) -> None:
    generator = np.random.default_rng(seed)
    given_ = {spec.name: (scale * generator.standard_normal(spec.shape)).astype(np.float32) for spec in SPECS}
    restored = restore_weights(quantise_weights(given_), SPECS)
    step = np.abs(given_["kernel"]).reshape(5, -1).max(axis=1) / 127
    assert (np.abs(restored["kernel"] - given_["kernel"]).reshape(5, -1).max(axis=1) <= step * 0.501).all()
    assert np.array_equal(restored["bias"], given_["bias"])


def test_a_weight_takes_a_byte() -> None:
    large = {"w": np.ones((256, 256), np.float32)}
    assert len(quantise_weights(large)) < 1.1 * 256 * 256


def test_rows_of_zeros_stay_zero() -> None:
    zeros = {"kernel": np.zeros((5, 3, 2), np.float32), "bias": np.zeros(5, np.float32)}
    assert not restore_weights(quantise_weights(zeros), SPECS)["kernel"].any()


def test_a_scale_that_is_not_finite_is_refused() -> None:
    stored = {
        "code.kernel": np.ones((5, 3, 2), np.int8),
        "scale.kernel": np.full(5, np.inf, np.float32),
        "float.bias": np.zeros(5, np.float32),
    }
    with pytest.raises(WireError) as refused:
        restore_weights(encode_tensors(stored), SPECS)
    assert refused.value.code == "tensors.not_finite"


def test_a_teacher_is_what_the_platform_signed_and_no_manifest() -> None:
    signed = sign_teacher(TEACHER, KEY)
    assert verify_teacher(signed, verify_key_of(KEY)) == TEACHER
    with pytest.raises(WireError) as foreign:
        verify_teacher(signed, verify_key_of(new_signing_key()))
    assert foreign.value.code == "bundle.bad_signature"
    with pytest.raises(WireError) as confused:
        verify_manifest(signed, verify_key_of(KEY))
    assert confused.value.code == "bundle.malformed"
    altered = msgspec.structs.replace(signed, manifest=signed.manifest.replace(b'"v"', b'"w"'))
    with pytest.raises(WireError, match="not signed"):
        verify_teacher(altered, verify_key_of(KEY))
