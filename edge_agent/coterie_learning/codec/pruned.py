"""Magnitude pruning in each tensor; the remaining parameters are quantised, and everything is entropy-coded.

Pruning by magnitude, then quantisation, then a Huffman code: Deep Compression (Han et al. 2016, arXiv 1510.00149, §2 to
§4), applied to an update. What is pruned is added to the device's next update (error feedback: Stich et al. 2018, arXiv
1809.07599, Algorithm 1). Unlike in `top_k`, the same share of every tensor is sent.
"""

import math
from collections.abc import Mapping
from typing import Annotated

import numpy as np
from msgspec import Meta

from coterie_learning.codec._streamed import Streamed
from coterie_learning.levels import MOST, Rounded, round_to_nearest
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Float32, Tensors

SENT_BITS = 2
"""Bits of a parameter that is kept, without those of its position; measured on updates of a small CNN."""


class Pruned(Streamed, frozen=True, tag="pruned"):
    """Keeps the largest magnitudes of each tensor, at least one; ties go to the earlier. All others are zero.

    A scale is the smallest magnitude that is kept, or the largest divided by 127 if that is more; numbers are rounded
    to the nearest multiple. The payload holds the scales, in the order of the names, in one tensor ``scale`` float32,
    and the codes as `coterie_learning.code_streams` deflates them.
    """

    share: Annotated[float, Meta(gt=0, le=1, description="of each tensor's parameters, those that are kept")] = 0.05
    feedback: Annotated[
        bool, Meta(description="add what is pruned to the device's next update; without, accuracy is lost")
    ] = True

    def feeds_back(self) -> bool:
        return self.feedback

    def rounded(self, update: Tensors, *, seed: int) -> Mapping[str, Rounded]:  # noqa: ARG002 - nothing is drawn
        return {name: self._rounded(tensor) for name, tensor in update.items()}

    def _rounded(self, tensor: Float32) -> Rounded:
        kept = self._largest(tensor)
        magnitudes = np.abs(kept[kept != 0])
        step = max(float(magnitudes.min(initial=np.inf)), float(magnitudes.max(initial=0)) / MOST)
        codes, scales, rest = round_to_nearest(kept, step if magnitudes.size else 0.0)
        return Rounded(codes, scales, rest + (tensor - kept))

    def _largest(self, tensor: Float32) -> Float32:
        """The largest magnitudes of `tensor`, with zeros for the rest."""
        magnitudes = np.abs(tensor.reshape(-1))
        count = _count(self.share, tensor.size)
        if count == tensor.size:
            return tensor
        least = np.partition(magnitudes, tensor.size - count)[tensor.size - count]
        chosen = magnitudes > least
        chosen[np.flatnonzero(magnitudes == least)[: count - int(chosen.sum())]] = True
        return np.where(chosen.reshape(tensor.shape), tensor, np.float32(0))

    def usual_bits(self, expected: tuple[TensorSpec, ...]) -> float:
        """Sign, level and position of each parameter that is kept."""
        return self.most_nonzero(expected) * (SENT_BITS - math.log2(self.share))

    def most_nonzero(self, expected: tuple[TensorSpec, ...]) -> int:
        return sum(_count(self.share, math.prod(spec.shape)) for spec in expected)


def _count(share: float, parameters: int) -> int:
    return min(parameters, max(1, math.floor(share * parameters)))
