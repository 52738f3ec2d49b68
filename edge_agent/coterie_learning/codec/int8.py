"""One signed byte a parameter, rounded at random so that the mean is right.

The rounding is that of QSGD (Alistarh et al. 2017, arXiv 1610.02132, §3.1). What it loses is returned, to be added to
the device's next update (error feedback: Seide et al. 2014, doi 10.21437/Interspeech.2014-274; Karimireddy et al. 2019,
arXiv 1901.09847, Algorithm 2).
"""

from typing import ClassVar, cast

from coterie_learning.codec._rounded import Rounded
from coterie_learning.levels import Codes, LevelsPayload
from coterie_learning.payloads import CodedPayload
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensor_files import TensorFile


class Int8(Rounded, frozen=True, tag="int8"):
    """A parameter is its code times its scale; a scale is the largest magnitude it serves, divided by 127.

    The payload holds ``code.NAME`` int8 in the shape of each tensor, and all scales, in the order of the names, in one
    tensor ``scale`` float32. Biases and other short tensors are coded like the rest.
    """

    levels: ClassVar[int] = 127

    def written(self, codes: Codes) -> Codes:
        return codes

    def written_spec(self, spec: TensorSpec) -> TensorSpec:
        return TensorSpec(f"code.{spec.name}", "int8", spec.shape)

    def payload(self, stored: TensorFile, expected: tuple[TensorSpec, ...]) -> CodedPayload:
        return _Int8Payload(stored, expected, self.levels, self.granularity)


class _Int8Payload(LevelsPayload):
    def codes(self, name: str, start: int, stop: int) -> Codes:
        return cast(Codes, self._stored.read(f"code.{name}", start, stop))
