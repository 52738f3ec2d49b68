"""Four bits a parameter, and fewer once deflated: fifteen levels with stochastic rounding, which is unbiased.

QSGD (Alistarh et al. 2017, arXiv 1610.02132, §3.1) with seven levels of either sign, followed by a lossless code as
there (§3.2). The rounding error is returned, to be added to the device's next update (error feedback: Karimireddy
et al. 2019, arXiv 1901.09847, Algorithm 2).
"""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

from msgspec import Meta

from coterie_learning.codec._streamed import Streamed
from coterie_learning.levels import Granularity, Rounded, round_tensors, scale_count
from coterie_learning.packings import Packing, Pairs
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors

MEASURED_BITS = {"tensor": 1.4, "channel": 2.2}
"""Bits a parameter, means over updates of a small CNN, by the granularity of the scales."""


class Int4(Streamed, frozen=True, tag="int4"):
    """A parameter is its code times its scale; a scale is the largest magnitude it serves, divided by 7.

    The payload holds the codes, two in a byte, as `coterie_learning.code_streams` deflates them; and all scales, in the
    order of the names, in one tensor ``scale`` float32.
    """

    granularity: Annotated[
        Granularity,
        Meta(description="one scale for each tensor, or one for each output channel that has at least 128 parameters"),
    ] = "channel"
    coarse: ClassVar[bool] = False
    packing: ClassVar[Packing] = Pairs()
    levels: ClassVar[int] = 7
    sum_bytes: ClassVar[float] = 1.5

    def scaled_by(self) -> Granularity:
        return self.granularity

    def rounded(self, update: Tensors, *, seed: int) -> Mapping[str, Rounded]:
        return round_tensors(update, self.levels, self.granularity, seed=seed)

    def usual_bits(self, expected: tuple[TensorSpec, ...]) -> float:
        sizes = [(math.prod(spec.shape), scale_count(spec.shape, self.granularity)) for spec in expected]
        return sum(size * MEASURED_BITS["channel" if scales > 1 else "tensor"] for size, scales in sizes)
