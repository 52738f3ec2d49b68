"""Slot `codec`: how an update travels. One module a kind."""

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import msgspec

from coterie_learning.kinds import Kind
from coterie_learning.payloads import Payload
from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory, Source, TensorFile, open_tensors
from coterie_wire.tensors import Array, Tensors, check_finite, check_specs, encode_tensors


class Encoded(NamedTuple):
    """An encoded update, and what the encoding lost of each tensor (error feedback: add it to the next update)."""

    payload: bytes
    residual: Tensors


class Codec(Kind, frozen=True):
    """Encodes the difference of parameters on the device, decodes it on the platform.

    A payload is a tensor file whose metadata holds the codec as a plan writes it, so that it cannot be read with
    another codec.
    """

    summable: ClassVar[bool] = False
    """Whether its payloads are `CodedPayload`, so that weighted sums of updates are sums of integers."""

    def encode(self, update: Tensors, *, seed: int) -> Encoded:
        """`update` as safetensors bytes; the same update and seed give the same bytes.

        Raises WireError ``update.not_finite``.
        """
        raise NotImplementedError

    def stored(self, expected: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
        """The tensors of a payload that encodes tensors of the specs `expected`."""
        raise NotImplementedError

    def payload(self, stored: TensorFile, expected: tuple[TensorSpec, ...]) -> Payload:
        """A reader of the payload, whose tensor names, dtypes and shapes have been checked.

        Raises OSError, or WireError ``update.not_finite``.
        """
        raise NotImplementedError

    def open(self, source: Source, *, expected: tuple[TensorSpec, ...]) -> Payload:
        """The payload in `source`, which must have exactly the tensors `expected`; its numbers are not read yet.

        Raises OSError, or WireError ``update.malformed``, ``update.wrong_codec``, ``update.wrong_shape`` or
        ``update.not_finite``, before it allocates more than the payload's own size.
        """
        try:
            stored = open_tensors(source)
        except WireError as error:
            raise WireError("update.malformed", error.detail) from error
        settings = msgspec.json.encode(self).decode()
        if stored.header.metadata != {"codec": settings}:
            raise WireError("update.wrong_codec", f"the payload says {stored.header.metadata}, expected {settings}")
        try:
            check_specs(stored.header, self.stored(expected))
        except WireError as error:
            raise WireError("update.wrong_shape", error.detail) from error
        return self.payload(stored, expected)

    def decode(self, payload: bytes | memoryview, *, expected: tuple[TensorSpec, ...]) -> Tensors:
        """The tensors of `payload`, which must be exactly those of `expected`; they may be views into it.

        Raises what `open` raises.
        """
        found = self.open(InMemory(payload), expected=expected)
        update = {
            spec.name: found.numbers(spec.name, 0, math.prod(spec.shape)).reshape(spec.shape) for spec in expected
        }
        check_update(update)
        return update

    def pack(self, tensors: Mapping[str, Array]) -> bytes:
        """What `encode` made of an update, marked with this codec's name and settings."""
        return encode_tensors(tensors, {"codec": msgspec.json.encode(self).decode()})


def check_update(update: Tensors) -> None:
    """Raises WireError ``update.not_finite``."""
    try:
        check_finite(update)
    except WireError as error:
        raise WireError("update.not_finite", error.detail) from error
