"""The update uncompressed, four bytes a parameter: the baseline of the other codecs."""

from collections.abc import Mapping
from typing import ClassVar, cast

import numpy as np

from coterie_learning.codec import Codec, Encoded, check_update
from coterie_learning.payloads import Payload
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensor_files import TensorFile
from coterie_wire.tensors import Float32, Tensors


class Float32Codec(Codec, frozen=True, tag="float32"):
    """Lossless; decoding gives views into the payload."""

    exact: ClassVar[bool] = True

    def encode(self, update: Tensors, *, seed: int) -> Encoded:  # noqa: ARG002 - nothing is rounded
        check_update(update)
        return Encoded(self.pack(update), {name: np.zeros_like(tensor) for name, tensor in update.items()})

    def stored(
        self,
        expected: tuple[TensorSpec, ...],
        stated: Mapping[str, TensorSpec] = {},  # noqa: ARG002 - all lengths follow from shapes
    ) -> tuple[TensorSpec, ...]:
        return expected

    def payload(self, stored: TensorFile, expected: tuple[TensorSpec, ...]) -> Payload:
        return _Numbers(stored, expected)


class _Numbers(Payload):
    def numbers(self, name: str, start: int, stop: int) -> Float32:
        return cast(Float32, self._stored.read(name, start, stop))
