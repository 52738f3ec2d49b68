"""What codecs share that store a code for every parameter, rounded at random to levels of a scale."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie_learning.codec import Codec, Encoded, check_update
from coterie_learning.levels import SCALE, Codes, Granularity, joined_scales, round_tensor, scale_places
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Tensors


class Rounded(Codec, frozen=True):
    """The payload has a tensor ``code.NAME`` for each tensor, and all scales in one, ``scale`` float32, in the order of
    the names."""

    granularity: Annotated[
        Granularity,
        Meta(description="one scale for each tensor, or one for each output channel that has at least 128 parameters"),
    ] = "channel"
    summable: ClassVar[bool] = True
    levels: ClassVar[int]
    """Codes lie in [-levels, levels]; zero is exact."""

    def written(self, codes: Codes) -> Codes | NDArray[np.uint8]:
        """The codes of a tensor as the payload has them."""
        raise NotImplementedError

    def written_spec(self, spec: TensorSpec) -> TensorSpec:
        """Name, type and shape of what `written` gives of a tensor."""
        raise NotImplementedError

    def encode(self, update: Tensors, *, seed: int) -> Encoded:
        check_update(update)
        rounded = {
            name: round_tensor(tensor, self.levels, self.granularity, seed=seed, name=name)
            for name, tensor in update.items()
        }
        codes = {f"code.{name}": self.written(one.codes) for name, one in rounded.items()}
        scales = joined_scales({name: one.scales for name, one in rounded.items()})
        return Encoded(self.pack({**codes, SCALE: scales}), {name: one.residual for name, one in rounded.items()})

    def stored(
        self,
        expected: tuple[TensorSpec, ...],
        stated: Mapping[str, TensorSpec] = {},  # noqa: ARG002 - all lengths follow from shapes
    ) -> tuple[TensorSpec, ...]:
        scales = scale_places(expected, self.granularity).scales
        return (*map(self.written_spec, expected), TensorSpec(SCALE, "float32", (scales,)))
