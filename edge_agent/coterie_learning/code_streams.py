"""Payloads of integer codes, compressed losslessly (deflate) in chunks.

The codes of all tensors are concatenated in the order of the tensors' names, and packed and deflated in chunks: reading
a span takes the memory of one chunk.
"""

import math
from collections.abc import Mapping
from itertools import accumulate, pairwise

import numpy as np

from coterie_learning.flat import flat, flat_starts, layout_name, parameters_of, specs_of
from coterie_learning.levels import Codes, Granularity, LevelsPayload
from coterie_learning.packings import Packing, malformed
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensor_files import TensorFile
from coterie_wire.tensors import Array

CHUNK = 5 << 14
"""Codes that are deflated together."""
SIZES = "sizes"
"""int32 [chunks, streams of a chunk]: the bytes of each stream."""


def chunks_of(parameters: int) -> int:
    """The number of chunks for this number of codes."""
    return math.ceil(parameters / CHUNK)


def deflated(codes: Mapping[str, Codes], packing: Packing) -> Mapping[str, Array]:
    """The tensors of a payload that hold the `codes` of all its tensors."""
    vector = flat(codes, np.int8)
    chunks = [packing.pack(vector[start : start + CHUNK]) for start in range(0, vector.size, CHUNK)]
    sizes = np.array([[len(stream) for stream in chunk] for chunk in chunks], np.int32).reshape(-1, packing.streams)
    joined = np.frombuffer(b"".join(stream for chunk in chunks for stream in chunk), np.uint8)
    return {SIZES: sizes, layout_name("codes", specs_of(codes)): joined}


def stream_specs(
    expected: tuple[TensorSpec, ...], stated: Mapping[str, TensorSpec], packing: Packing
) -> tuple[TensorSpec, ...]:
    """Specs of the tensors that hold the codes of the tensors `expected`; `stated` gives the lengths of the streams."""
    name, chunks = layout_name("codes", expected), chunks_of(parameters_of(expected))
    length = math.prod(stated[name].shape) if name in stated else 0
    return (TensorSpec(SIZES, "int32", (chunks, packing.streams)), TensorSpec(name, "uint8", (length,)))


class StreamPayload(LevelsPayload):
    """A payload of `deflated` codes and their scales."""

    def __init__(
        self,
        stored: TensorFile,
        expected: tuple[TensorSpec, ...],
        packing: Packing,
        levels: int,
        granularity: Granularity,
    ) -> None:
        """Reads the scales and the sizes.

        Raises OSError, or WireError ``tensors.malformed``, ``update.malformed`` or ``update.not_finite``.
        """
        super().__init__(stored, expected, levels, granularity)
        self._name, self._packing = layout_name("codes", expected), packing
        (length,) = stored.header.specs[self._name].shape
        sizes = stored.read(SIZES, 0, math.prod(stored.header.specs[SIZES].shape)).tolist()
        self._ends = list(accumulate(sizes, initial=0))
        if min(sizes, default=0) < 0 or self._ends[-1] != length:
            raise malformed(f"its streams should fill {length} bytes, their sizes sum to {sum(sizes)}")
        self._count = parameters_of(expected)
        self._starts = flat_starts(expected)
        self._kept: tuple[int, Codes] = (-1, np.empty(0, np.int8))

    def codes(self, name: str, start: int, stop: int) -> Codes:
        first, last = self._starts[name] + start, self._starts[name] + stop
        found = np.empty(stop - start, np.int8)
        for chunk in range(first // CHUNK, chunks_of(last)):
            begin = chunk * CHUNK
            low, high = max(first, begin), min(last, begin + CHUNK)
            found[low - first : high - first] = self._chunk(chunk)[low - begin : high - begin]
        return found

    def largest_code(self, codes: Codes) -> int:
        """Computed from the codes, since most are far below the largest level."""
        return max(int(codes.max()), -int(codes.min()))

    def _chunk(self, chunk: int) -> Codes:
        """The last chunk is cached: spans are read one after the other."""
        if self._kept[0] != chunk:
            first = chunk * self._packing.streams
            ends = self._ends[first : first + self._packing.streams + 1]
            streams = [self._stored.read(self._name, *span).tobytes() for span in pairwise(ends)]
            self._kept = (chunk, self._packing.unpack(streams, min(CHUNK, self._count - chunk * CHUNK)))
        return self._kept[1]
