"""Slot `codec`: how an update travels. One module a kind."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from coterie_learning.kinds import Kind
from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Array, Tensors, check_finite, encode_tensors, read_header, view_tensors


class Encoded(NamedTuple):
    """An encoded update, and what the encoding lost of each tensor (error feedback: add it to the next update)."""

    payload: bytes
    residual: Tensors


class Codec(Kind, frozen=True):
    """Encodes the difference of parameters on the device, decodes it on the platform.

    A payload is a tensor file whose metadata holds the codec as a plan writes it, so that nobody takes it for another
    codec's.
    """

    def encode(self, update: Tensors, *, seed: int) -> Encoded:
        """`update` as safetensors bytes; the same update and seed give the same bytes.

        Raises WireError ``update.not_finite``.
        """
        raise NotImplementedError

    def decode(self, payload: bytes | memoryview, *, expected: tuple[TensorSpec, ...]) -> Tensors:
        """The tensors of `payload`, which must be exactly those of `expected`; they may be views into it.

        Raises WireError ``update.malformed``, ``update.wrong_codec``, ``update.wrong_shape`` or ``update.not_finite``,
        before it allocates more than the payload's own size.
        """
        raise NotImplementedError

    def pack(self, tensors: Mapping[str, Array]) -> bytes:
        """What `encode` made of an update, marked with this codec's name and settings."""
        return encode_tensors(tensors, {"codec": msgspec.json.encode(self).decode()})

    def unpack(self, payload: bytes | memoryview, *, expected: tuple[TensorSpec, ...]) -> Mapping[str, Array]:
        """The inverse of `pack`: views into `payload`.

        Raises WireError ``update.malformed``, ``update.wrong_codec`` or ``update.wrong_shape``.
        """
        try:
            header = read_header(payload)
        except WireError as error:
            raise WireError("update.malformed", error.detail) from error
        settings = msgspec.json.encode(self).decode()
        if header.metadata != {"codec": settings}:
            raise WireError("update.wrong_codec", f"the payload says {header.metadata}, expected {settings}")
        try:
            return view_tensors(payload, header, expected=expected)
        except WireError as error:
            raise WireError("update.wrong_shape", error.detail) from error


def check_update(update: Tensors) -> None:
    """Raises WireError ``update.not_finite``."""
    try:
        check_finite(update)
    except WireError as error:
        raise WireError("update.not_finite", error.detail) from error
