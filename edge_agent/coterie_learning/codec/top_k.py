"""Top-k sparsification: only the largest changes are sent; the rest accumulate on the device (error feedback).

Sparsification with memory (Stich et al. 2018, arXiv 1809.07599, Algorithm 1), which for an update equals pruning by
magnitude. With ``sign`` it is the sparse ternary compression of Sattler et al. 2019 (arXiv 1903.02891, Algorithm 1),
with one magnitude for each tensor.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie_learning.codec._streamed import Streamed
from coterie_learning.flat import flat, parameters_of, specs_of, unflat
from coterie_learning.levels import MOST, Rounded, largest_scale, round_to_nearest
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Float32, Tensors

SENT_BITS = {"sign": 1, "int8": 7}
"""Bits of the value of a parameter that is sent, without those of its position; measured on updates of a small CNN."""


class TopK(Streamed, frozen=True, tag="top_k"):
    """Sends the largest magnitudes of the whole update, at least one; ties go to the earlier. All others are zero.

    The payload holds the scales, in the order of the names, in one tensor ``scale`` float32, and the codes as
    `coterie_learning.code_streams` deflates them, which encodes positions as runs of zeros.
    """

    share: Annotated[float, Meta(gt=0, le=1, description="of the update's parameters, those that are sent")] = 0.025
    value: Annotated[
        Literal["sign", "int8"],
        Meta(
            description="what is sent of each: its sign, with one magnitude for a tensor, or 127 levels of either sign"
        ),
    ] = "sign"
    feedback: Annotated[
        bool, Meta(description="add what is not sent to the device's next update; without, accuracy is lost")
    ] = True

    def feeds_back(self) -> bool:
        return self.feedback

    def rounded(self, update: Tensors, *, seed: int) -> Mapping[str, Rounded]:  # noqa: ARG002 - nothing is drawn
        chosen = _largest(update, self.share)
        return {name: self._rounded(tensor, chosen[name]) for name, tensor in update.items()}

    def _rounded(self, tensor: Float32, chosen: NDArray[np.bool_]) -> Rounded:
        kept = np.where(chosen, tensor, np.float32(0))
        if self.value == "int8":
            codes, scales, rest = round_to_nearest(kept, float(np.abs(kept).max(initial=0)) / MOST)
            return Rounded(codes, scales, rest + (tensor - kept))
        magnitudes = np.abs(kept[chosen]).astype(np.float64)
        mean = math.fsum(magnitudes.tolist()) / max(magnitudes.size, 1)
        scale = np.minimum(np.float32(mean), largest_scale(MOST))
        codes = np.sign(kept).astype(np.int8)
        return Rounded(codes, np.array([scale], np.float32), tensor - codes * scale)

    def usual_bits(self, expected: tuple[TensorSpec, ...]) -> float:
        return self.most_nonzero(expected) * (SENT_BITS[self.value] - math.log2(self.share))

    def most_nonzero(self, expected: tuple[TensorSpec, ...]) -> int:
        return _count(self.share, parameters_of(expected))


def _count(share: float, parameters: int) -> int:
    return min(parameters, max(1, math.floor(share * parameters)))


def _largest(update: Tensors, share: float) -> Mapping[str, NDArray[np.bool_]]:
    """A mask by tensor of the `share` of largest magnitudes of the update; ties go to the first in the names' order."""
    magnitudes = np.abs(flat(update, np.float32))
    chosen = np.zeros(magnitudes.size, np.bool_)
    if magnitudes.size:
        count = _count(share, magnitudes.size)
        least = np.partition(magnitudes, magnitudes.size - count)[magnitudes.size - count]
        np.greater(magnitudes, least, out=chosen)
        equal = np.flatnonzero(magnitudes == least)
        chosen[equal[: count - int(chosen.sum())]] = True
    return unflat(chosen, specs_of(update))
