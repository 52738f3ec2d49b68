"""Half a byte a parameter: fifteen levels, rounded at random so that the mean is right.

QSGD (Alistarh et al. 2017, arXiv 1610.02132, §3.1) with seven levels of either sign. What the rounding loses is
returned, to be added to the device's next update (error feedback: Karimireddy et al. 2019, arXiv 1901.09847, Algorithm
2).
"""

import math
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from coterie_learning.codec._rounded import Rounded
from coterie_learning.levels import Codes, LevelsPayload
from coterie_learning.payloads import CodedPayload
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensor_files import TensorFile


class Int4(Rounded, frozen=True, tag="int4"):
    """A parameter is its code times its scale; a scale is the largest magnitude it serves, divided by 7.

    The payload holds all codes of a tensor in one tensor ``code.NAME`` uint8, two in a byte as two's complement, the
    earlier in the lower half; and all scales, in the order of the names, in one tensor ``scale`` float32.
    """

    since: ClassVar[str] = "0.2"
    levels: ClassVar[int] = 7

    def written(self, codes: Codes) -> NDArray[np.uint8]:
        return _packed(codes.reshape(-1))

    def written_spec(self, spec: TensorSpec) -> TensorSpec:
        return TensorSpec(f"code.{spec.name}", "uint8", ((math.prod(spec.shape) + 1) // 2,))

    def payload(self, stored: TensorFile, expected: tuple[TensorSpec, ...]) -> CodedPayload:
        return _Int4Payload(stored, expected, self.levels, self.granularity)


class _Int4Payload(LevelsPayload):
    def codes(self, name: str, start: int, stop: int) -> Codes:
        pairs = cast(NDArray[np.uint8], self._stored.read(f"code.{name}", start // 2, (stop + 1) // 2))
        return _unpacked(pairs)[start % 2 :][: stop - start]


def _packed(codes: Codes) -> NDArray[np.uint8]:
    halves = np.zeros(codes.size + codes.size % 2, np.uint8)
    halves[: codes.size] = codes.view(np.uint8) & 0x0F
    pairs: NDArray[np.uint8] = np.bitwise_or(halves[::2], halves[1::2] << 4)
    return pairs


def _unpacked(pairs: NDArray[np.uint8]) -> Codes:
    """The sign is the highest of four bits: each half is moved up to where it is that of a byte, and down again."""
    codes = np.empty((pairs.size, 2), np.int8)
    codes[:, 0] = (pairs << 4).view(np.int8) >> 4
    codes[:, 1] = pairs.view(np.int8) >> 4
    return codes.reshape(-1)
