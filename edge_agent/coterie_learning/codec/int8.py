"""One signed byte a parameter with stochastic rounding, which is unbiased.

The rounding is that of QSGD (Alistarh et al. 2017, arXiv 1610.02132, §3.1). Its error is returned, to be added to the
device's next update (error feedback: Seide et al. 2014, doi 10.21437/Interspeech.2014-274; Karimireddy et al. 2019,
arXiv 1901.09847, Algorithm 2).
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, cast

from msgspec import Meta

from coterie_learning.codec import Codec, Encoded, check_update
from coterie_learning.levels import (
    MOST,
    SCALE,
    Codes,
    Granularity,
    LevelsPayload,
    joined_scales,
    round_tensors,
    scale_places,
)
from coterie_learning.payloads import CodedPayload
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensor_files import TensorFile
from coterie_wire.tensors import Tensors


class Int8(Codec, frozen=True, tag="int8"):
    """A parameter is its code times its scale; a scale is the largest magnitude it serves, divided by 127, rounded up.

    The payload holds ``code.NAME`` int8 in the shape of each tensor, and all scales, in the order of the names, in one
    tensor ``scale`` float32. Biases and other short tensors are coded like the rest.
    """

    granularity: Annotated[
        Granularity,
        Meta(description="one scale for each tensor, or one for each output channel that has at least 128 parameters"),
    ] = "channel"
    summable: ClassVar[bool] = True
    sum_bytes: ClassVar[float] = 2.25

    def encode(self, update: Tensors, *, seed: int) -> Encoded:
        check_update(update)
        rounded = round_tensors(update, MOST, self.granularity, seed=seed)
        codes = {f"code.{name}": one.codes for name, one in rounded.items()}
        scales = joined_scales({name: one.scales for name, one in rounded.items()})
        return Encoded(self.pack({**codes, SCALE: scales}), {name: one.residual for name, one in rounded.items()})

    def stored(
        self,
        expected: tuple[TensorSpec, ...],
        stated: Mapping[str, TensorSpec] = {},  # noqa: ARG002 - all lengths follow from shapes
    ) -> tuple[TensorSpec, ...]:
        scales = scale_places(expected, self.granularity).scales
        codes = (TensorSpec(f"code.{spec.name}", "int8", spec.shape) for spec in expected)
        return (*codes, TensorSpec(SCALE, "float32", (scales,)))

    def payload(self, stored: TensorFile, expected: tuple[TensorSpec, ...]) -> CodedPayload:
        return _Int8Payload(stored, expected, MOST, self.granularity)


class _Int8Payload(LevelsPayload):
    def codes(self, name: str, start: int, stop: int) -> Codes:
        return cast(Codes, self._stored.read(f"code.{name}", start, stop))
