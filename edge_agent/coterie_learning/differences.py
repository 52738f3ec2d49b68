"""Versions sent as differences from the previous version.

A payload has the form of an update: the running statistics in full, if the model has some, and the difference of the
parameters, encoded by the codec that its metadata names.
"""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from coterie_learning.codec import Codec
from coterie_learning.device_plan import CODEC
from coterie_learning.updates import join_update, split_update
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import running_statistics
from coterie_wire.errors import UNREADABLE, WireError
from coterie_wire.structs import from_json
from coterie_wire.tensors import Tensors, check_finite, decode_tensors, encode_tensors, read_header


class Made(NamedTuple):
    """A version as devices receive it."""

    payload: bytes
    version: Tensors
    """Parameters and statistics, as `apply_difference` returns them."""
    residual: Tensors
    """The encoding error of the merged parameters; empty where the codec has no error feedback."""


def make_difference(codec: Codec, model: ModelSpec, *, base: Tensors, merged: Tensors, residual: Tensors) -> Made:
    """The encoded difference from the version `base` to `merged`, both with their statistics.

    `residual` is that of `base`, empty where it has none. The same arguments give the same bytes. Raises WireError
    ``update.not_finite`` or ``tensors.not_finite``.
    """
    wanted = {spec.name: merged[spec.name] - base[spec.name] + residual.get(spec.name, 0) for spec in model.parameters}
    content = encode_tensors({spec.name: base[spec.name] for spec in model.parameters})
    encoded = codec.encode(wanted, seed=int.from_bytes(hashlib.sha256(content).digest()[:6], "big"))
    payload = join_update({spec.name: merged[spec.name] for spec in running_statistics(model)}, encoded.payload)
    version = apply_difference(payload, model, base)
    return Made(payload, version, encoded.residual if codec.feeds_back() else {})


def apply_difference(payload: bytes | memoryview, model: ModelSpec, base: Tensors) -> Tensors:
    """The version that results from `payload` and `base`: sums of two float32 each, the same bits on every processor.

    Raises WireError ``update.*``, ``plan.unknown_kind``, ``plan.invalid`` or ``tensors.not_finite``.
    """
    parts = split_update(payload, model)
    difference = _codec_of(parts.encoded).decode(parts.encoded, expected=model.parameters)
    version = {spec.name: base[spec.name] + difference[spec.name] for spec in model.parameters}
    check_finite(version)
    return {**version, **parts.statistics}


def next_file(payload: bytes, base: bytes, model: ModelSpec) -> bytes:
    """The file of a version's tensors, computed from that of the previous version.

    Raises WireError ``tensors.*``, or what `apply_difference` raises.
    """
    tensors = decode_tensors(base, expected=model.version)
    check_finite(tensors)
    before = {name: np.asarray(tensor, dtype=np.float32) for name, tensor in tensors.items()}
    return encode_tensors(apply_difference(payload, model, before))


def _codec_of(encoded: memoryview) -> Codec:
    try:
        written = read_header(encoded).metadata["codec"].encode()
        return CODEC.parse(from_json(written, Mapping[str, object]))
    except (KeyError, *UNREADABLE) as error:
        raise WireError("update.malformed", f"the difference names no codec: {error}") from error
