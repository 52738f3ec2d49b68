"""Slot `codec`: how an update travels. One module a kind."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_wire.bundle import TensorSpec
from coterie_wire.kinds import Kind

Float32 = NDArray[np.float32]
Tensors = Mapping[str, Float32]


class Encoded(NamedTuple):
    """An encoded update, and what the encoding lost of each tensor (error feedback: add it to the next update)."""

    payload: bytes
    residual: Tensors


class Codec(Kind, frozen=True):
    """Encodes the difference of parameters on the device, decodes it on the platform."""

    def encode(self, update: Tensors, *, seed: int) -> Encoded:
        """`update` as safetensors bytes; the same update and seed give the same bytes.

        Raises WireError ``update.not_finite``.
        """
        raise NotImplementedError

    def decode(self, payload: bytes | memoryview, *, expected: tuple[TensorSpec, ...]) -> Tensors:
        """The tensors of `payload`, which must be exactly those of `expected`.

        Raises WireError ``update.malformed``, ``update.wrong_codec``, ``update.wrong_shape`` or ``update.not_finite``,
        before it allocates more than the payload's own size.
        """
        raise NotImplementedError
