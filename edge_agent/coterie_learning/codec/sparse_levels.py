"""Uniform quantisation with a wide step, most codes zero, entropy-coded: a tenth of a bit to a bit a parameter.

A uniform step and an entropy code beat fixed-rate schemes (Mitchell et al. 2022, arXiv 2201.02664). The rounding error
is added to the device's next update (error feedback: Karimireddy et al. 2019, arXiv 1901.09847, Algorithm 2), which
wide steps need.
"""

import math
from collections.abc import Mapping
from typing import Annotated

import numpy as np
from msgspec import Meta

from coterie_learning.codec._streamed import Streamed
from coterie_learning.flat import parameters_of
from coterie_learning.levels import MOST, Rounded, root_mean_square, round_to_nearest
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Float32, Tensors

SHORT = 256
"""Parameters; smaller tensors, such as biases, are rounded to int8 levels: their mean square is a poor estimate."""
SHORT_BITS = 8
MEASURED_BITS = {0.25: 2.75, 0.5: 2.0, 1: 1.35, 2: 0.77, 4: 0.34, 8: 0.1, 16: 0.02}
"""Bits a parameter of longer tensors by step, means over updates of a small CNN."""


class SparseLevels(Streamed, frozen=True, tag="sparse_levels"):
    """A parameter is its code times its tensor's scale, rounded to the nearest; zero is exact.

    The payload holds the scales, in the order of the names, in one tensor ``scale`` float32, and the codes as
    `coterie_learning.code_streams` deflates them.
    """

    step: Annotated[
        float,
        Meta(ge=0.25, le=16, description="from one level to the next, in root mean squares of the tensor's update"),
    ] = 2.0
    feedback: Annotated[
        bool,
        Meta(
            description="add what is lost to the device's next update, for steps of 2 to 3.4; above, more is lost "
            "than leaves, and without, steps above 2 cost accuracy"
        ),
    ] = False

    def feeds_back(self) -> bool:
        return self.feedback

    def rounded(self, update: Tensors, *, seed: int) -> Mapping[str, Rounded]:  # noqa: ARG002 - nothing is drawn
        return {name: self._rounded(tensor) for name, tensor in update.items()}

    def _rounded(self, tensor: Float32) -> Rounded:
        if tensor.size < SHORT:
            scale = float(np.abs(tensor).max(initial=0)) / MOST
        else:
            scale = self.step * root_mean_square(tensor)
        return round_to_nearest(tensor, scale)

    def usual_bits(self, expected: tuple[TensorSpec, ...]) -> float:
        bits = float(np.interp(math.log2(self.step), np.log2(list(MEASURED_BITS)), list(MEASURED_BITS.values())))
        sizes = [math.prod(spec.shape) for spec in expected]
        return sum(size * (SHORT_BITS if size < SHORT else bits) for size in sizes)

    def most_nonzero(self, expected: tuple[TensorSpec, ...]) -> int:
        """Upper bound of the number of parameters above half a step, from the mean square (Chebyshev's inequality)."""
        sizes = [math.prod(spec.shape) for spec in expected]
        share = min(1.0, 4 / self.step**2)
        return min(parameters_of(expected), sum(size if size < SHORT else math.ceil(share * size) for size in sizes))
