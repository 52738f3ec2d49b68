"""The cloud model as a device's teacher: a graph shared by all its versions, and parameters of one byte each."""

from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from coterie_wire.bundle import (
    BlobRef,
    Shape,
    SignedManifest,
    TensorSpec,
    read_signed,
    sign_content,
)
from coterie_wire.errors import WireError
from coterie_wire.tensors import Array, Float32, Tensors, check_finite, decode_tensors, encode_tensors

LEVELS = 127
"""Codes lie in [-127, 127]; zero is exact."""


class Teacher(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One version of the cloud model, as sent to devices.

    The graph takes `inputs` with any leading batch axis and ``param.NAME`` for each of `parameters`, and gives
    ``logits`` float32 [batch, classes].
    """

    protocol: Annotated[int, Meta(ge=0, le=2**53)]
    pair: str
    version: str
    inputs: tuple[TensorSpec, ...]
    classes: int
    parameters: tuple[TensorSpec, ...]
    predict: BlobRef
    weights: BlobRef
    """The parameters, from `quantise_weights`."""


def sign_teacher(teacher: Teacher, signing_key: bytes) -> SignedManifest:
    """The teacher's bytes with their Ed25519 signature; equal teachers give equal bytes."""
    return sign_content(msgspec.json.encode(teacher), signing_key)


def verify_teacher(signed: SignedManifest, *verify_keys: bytes) -> Teacher:
    """The teacher that the platform signed.

    Raises WireError ``bundle.bad_signature``, ``bundle.malformed`` or ``bundle.protocol``.
    """
    return read_signed(signed, Teacher, *verify_keys)


def quantise_weights(parameters: Tensors) -> bytes:
    """Parameters rounded to 255 levels, one scale a row; vectors and scalars, which are small, unchanged."""
    stored: dict[str, Array] = {}
    for name, tensor in parameters.items():
        if tensor.ndim < 2:
            stored[f"float.{name}"] = tensor
            continue
        rows = tensor.reshape(tensor.shape[0], -1)
        scale = np.abs(rows).max(axis=1, initial=0) / np.float32(LEVELS)
        divisor = np.where(scale > 0, scale, np.float32(1))[:, None]
        stored[f"code.{name}"] = np.rint(rows / divisor).astype(np.int8).reshape(tensor.shape)
        stored[f"scale.{name}"] = scale.astype(np.float32)
    return encode_tensors(stored)


def restore_weights(content: bytes | memoryview, parameters: tuple[TensorSpec, ...]) -> Tensors:
    """The inverse of `quantise_weights`, up to rounding.

    Raises WireError ``tensors.malformed``, ``tensors.wrong_shape`` or ``tensors.not_finite``.
    """
    stored = decode_tensors(content, expected=_stored_specs(parameters))
    restored: dict[str, Float32] = {}
    for spec in parameters:
        if len(spec.shape) < 2:
            restored[spec.name] = stored[f"float.{spec.name}"].astype(np.float32)
        else:
            scale = _shaped(stored[f"scale.{spec.name}"], spec.shape)
            with np.errstate(over="ignore"):  # checked below
                restored[spec.name] = np.multiply(stored[f"code.{spec.name}"], scale, dtype=np.float32)
    check_finite(restored)
    return restored


def _stored_specs(parameters: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
    specs: list[TensorSpec] = []
    for spec in parameters:
        if spec.dtype != "float32":
            raise WireError("tensors.wrong_shape", f"parameter {spec.name} of a teacher is {spec.dtype}")
        if len(spec.shape) < 2:
            specs.append(TensorSpec(f"float.{spec.name}", "float32", spec.shape))
        else:
            specs.append(TensorSpec(f"code.{spec.name}", "int8", spec.shape))
            specs.append(TensorSpec(f"scale.{spec.name}", "float32", spec.shape[:1]))
    return tuple(specs)


def _shaped(scale: Array, shape: Shape) -> Array:
    return scale.reshape(-1, *(1 for _ in shape[1:]))
