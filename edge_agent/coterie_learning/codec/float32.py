"""The update as it is, four bytes a parameter: the yardstick of the other codecs."""

from typing import cast

import numpy as np

from coterie_learning.codec import Codec, Encoded, check_update
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors


class Float32Codec(Codec, frozen=True, tag="float32"):
    """Loses nothing; decoding gives views into the payload."""

    def encode(self, update: Tensors, *, seed: int) -> Encoded:  # noqa: ARG002 - nothing is rounded
        check_update(update)
        return Encoded(self.pack(update), {name: np.zeros_like(tensor) for name, tensor in update.items()})

    def decode(self, payload: bytes | memoryview, *, expected: tuple[TensorSpec, ...]) -> Tensors:
        update = cast(Tensors, self.unpack(payload, expected=expected))
        check_update(update)
        return update
