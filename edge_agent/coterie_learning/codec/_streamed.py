"""Shared by codecs that send deflated codes, see `coterie_learning.code_streams`."""

import math
from collections.abc import Mapping
from typing import ClassVar

from coterie_learning.code_streams import StreamPayload, chunks_of, deflated, stream_specs
from coterie_learning.codec import Codec, Encoded, PayloadBytes, check_update
from coterie_learning.flat import layout_name, parameters_of
from coterie_learning.levels import MOST, SCALE, Granularity, Rounded, joined_scales, scale_places
from coterie_learning.packings import Packing, SignsAndMagnitudes
from coterie_learning.payloads import CodedPayload
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensor_files import TensorFile
from coterie_wire.tensors import Tensors, planned_file


class Streamed(Codec, frozen=True):
    """The payload holds the scales, in the order of the names, in one tensor ``scale`` float32, and the streams."""

    since: ClassVar[str] = "0.2"
    summable: ClassVar[bool] = True
    coarse: ClassVar[bool] = True
    packing: ClassVar[Packing] = SignsAndMagnitudes()
    levels: ClassVar[int] = MOST
    """Codes lie in [-levels, levels]; zero is exact."""

    def scaled_by(self) -> Granularity:
        """The granularity of the scales."""
        return "tensor"

    def usual_bits(self, expected: tuple[TensorSpec, ...]) -> float:
        """Size of the codes in bits, as measured on real updates."""
        raise NotImplementedError

    def most_nonzero(self, expected: tuple[TensorSpec, ...]) -> int:
        """Upper bound of the number of nonzero codes."""
        return parameters_of(expected)

    def rounded(self, update: Tensors, *, seed: int) -> Mapping[str, Rounded]:
        """The tensors of an update as codes times scales."""
        raise NotImplementedError

    def encode(self, update: Tensors, *, seed: int) -> Encoded:
        check_update(update)
        rounded = self.rounded(update, seed=seed)
        codes = deflated({name: one.codes for name, one in rounded.items()}, self.packing)
        scales = joined_scales({name: one.scales for name, one in rounded.items()})
        return Encoded(self.pack({**codes, SCALE: scales}), {name: one.residual for name, one in rounded.items()})

    def stored(self, expected: tuple[TensorSpec, ...], stated: Mapping[str, TensorSpec] = {}) -> tuple[TensorSpec, ...]:
        scales = scale_places(expected, self.scaled_by()).scales
        return (*stream_specs(expected, stated, self.packing), TensorSpec(SCALE, "float32", (scales,)))

    def payload(self, stored: TensorFile, expected: tuple[TensorSpec, ...]) -> CodedPayload:
        return StreamPayload(stored, expected, self.packing, self.levels, self.scaled_by())

    def payload_bytes(self, expected: tuple[TensorSpec, ...]) -> PayloadBytes:
        count = parameters_of(expected)
        chunks = chunks_of(count)
        least = self.packing.least_bytes(chunks)
        most = self.packing.most_bytes(count, self.most_nonzero(expected), chunks)
        usual = min(max(least, math.ceil(self.usual_bits(expected) / 8)), most)
        return PayloadBytes(*(self._file_bytes(expected, length) for length in (least, usual, most)))

    def _file_bytes(self, expected: tuple[TensorSpec, ...], length: int) -> int:
        name = layout_name("codes", expected)
        specs = self.stored(expected, {name: TensorSpec(name, "uint8", (length,))})
        return planned_file(specs, self.metadata()).size_bytes
