"""One bit a parameter: the signs of the update after a random rotation, and one scale for each block.

DRIVE (Vargaftik et al. 2021, arXiv 2105.08339, §4 and §6: the randomised Hadamard transform), of which EDEN (Vargaftik
et al. 2022, arXiv 2108.08842) is the form for more bits. Updates are rotated in blocks of powers of two.
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, cast

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie_learning.codec import Codec, Encoded, check_update
from coterie_learning.flat import flat, flat_starts, layout_name, parameters_of, specs_of, unflat
from coterie_learning.levels import SCALE
from coterie_learning.payloads import Payload
from coterie_learning.rotation import BlockSpan, hadamard, power_blocks, random_signs
from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import TensorFile
from coterie_wire.tensors import Array, Float32, Tensors

SEED = "seed"
LARGEST_NUMBER = np.float32(2.0**100)
"""Largest magnitude that a payload can encode; merges refuse updates of a hundredth of it."""


class OneBit(Codec, frozen=True, tag="one_bit"):
    """A block is its signs times its scale, rotated back; blocks follow the order of the tensors' names.

    The payload holds the signs in one tensor uint8, eight in a byte, the scales of the blocks in one tensor ``scale``
    float32, and the seed of the rotations in one tensor ``seed`` int64.
    """

    feedback: Annotated[
        bool,
        Meta(
            description="add what is lost to the device's next update, with the scale that loses least; "
            "without, with the scale that makes the mean right"
        ),
    ] = False
    since: ClassVar[str] = "0.2"
    coarse: ClassVar[bool] = True

    def feeds_back(self) -> bool:
        return self.feedback

    def encode(self, update: Tensors, *, seed: int) -> Encoded:
        check_update(update)
        numbers, specs = flat(update, np.float32), specs_of(update)
        blocks = power_blocks(numbers.size)
        signs, scales = np.empty(numbers.size, np.uint8), np.empty(len(blocks), np.float32)
        rest = np.empty_like(numbers)
        for index, block in enumerate(blocks):
            span = slice(*block)
            scales[index], signs[span] = self._block(numbers[span], seed, index)
            rest[span] = numbers[span] - _rotated_back(signs[span], scales[index], seed, index)
        tensors: Mapping[str, Array] = {
            layout_name("signs", specs): np.packbits(signs, bitorder="little"),
            SCALE: scales,
            SEED: np.array([seed], np.int64),
        }
        return Encoded(self.pack(tensors), unflat(rest, specs))

    def _block(self, numbers: Float32, seed: int, index: int) -> tuple[np.float32, NDArray[np.uint8]]:
        """The scale (DRIVE, Theorem 3 and Lemma 2), and a mask of the negative rotated numbers."""
        largest = float(np.abs(numbers).max())
        if not largest:
            return np.float32(0), np.zeros(numbers.size, np.uint8)
        exponent = math.frexp(largest)[1]  # with magnitudes of at most 1 no sum overflows
        small = numbers.astype(np.float64) * 2.0**-exponent
        rotated = hadamard(small.astype(np.float32) * random_signs(numbers.size, seed, index))
        # Sums one after the other, so that every processor has the same bits.
        length = float(np.add.accumulate(np.abs(rotated).astype(np.float64))[-1]) / math.sqrt(numbers.size)
        squares = float(np.add.accumulate(small * small)[-1])
        scale = length / numbers.size if self.feedback else squares / length
        limit = float(LARGEST_NUMBER) / math.sqrt(numbers.size)
        return np.float32(min(math.ldexp(scale, exponent), limit)), (rotated < 0).view(np.uint8)

    def stored(
        self,
        expected: tuple[TensorSpec, ...],
        stated: Mapping[str, TensorSpec] = {},  # noqa: ARG002 - all lengths follow from shapes
    ) -> tuple[TensorSpec, ...]:
        count = parameters_of(expected)
        return (
            TensorSpec(layout_name("signs", expected), "uint8", ((count + 7) // 8,)),
            TensorSpec(SCALE, "float32", (len(power_blocks(count)),)),
            TensorSpec(SEED, "int64", (1,)),
        )

    def payload(self, stored: TensorFile, expected: tuple[TensorSpec, ...]) -> Payload:
        return _Signs(stored, expected)


class _Signs(Payload):
    def __init__(self, stored: TensorFile, expected: tuple[TensorSpec, ...]) -> None:
        super().__init__(stored, expected)
        self._name, self._starts = layout_name("signs", expected), flat_starts(expected)
        self._blocks = power_blocks(parameters_of(expected))
        self._scales = cast(Float32, stored.read(SCALE, 0, len(self._blocks)))
        limits = float(LARGEST_NUMBER) / np.sqrt([stop - start for start, stop in self._blocks])
        # A comparison with NaN is false.
        if not np.all((self._scales >= 0) & (self._scales <= limits.astype(np.float32))):
            raise WireError("update.not_finite", f"a scale stands for numbers that are not below {LARGEST_NUMBER:g}")
        (self._seed,) = stored.read(SEED, 0, 1).tolist()
        self._begins = np.array([block.start for block in self._blocks])
        self._kept: tuple[int, Float32] = (-1, np.empty(0, np.float32))

    def numbers(self, name: str, start: int, stop: int) -> Float32:
        first, last = self._starts[name] + start, self._starts[name] + stop
        found = np.empty(stop - start, np.float32)
        at = first
        while at < last:
            index = int(np.searchsorted(self._begins, at, side="right")) - 1
            block = self._blocks[index]
            end = min(last, block.stop)
            found[at - first : end - first] = self._block(index, block)[at - block.start : end - block.start]
            at = end
        return found

    def _block(self, index: int, block: BlockSpan) -> Float32:
        """The last block is cached: spans are read one after the other."""
        if self._kept[0] != index:
            begin, end = block.start // 8, (block.stop + 7) // 8
            packed = cast(NDArray[np.uint8], self._stored.read(self._name, begin, end))
            signs = np.unpackbits(packed, bitorder="little")[block.start - 8 * begin : block.stop - 8 * begin]
            self._kept = (index, _rotated_back(signs, self._scales[index], self._seed, index))
        return self._kept[1]


def _rotated_back(signs: NDArray[np.uint8], scale: np.float32, seed: int, index: int) -> Float32:
    rotated = np.float32(1) - np.float32(2) * signs.astype(np.float32)
    # Sums of signs are whole numbers, exact in float32; the scale is applied to them at the end.
    back: Float32 = hadamard(rotated) * random_signs(signs.size, seed, index)
    back *= np.float32(float(scale) / math.sqrt(signs.size))
    return back
