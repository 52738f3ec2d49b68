"""One signed byte a parameter, rounded at random so that the mean is right.

The rounding is that of QSGD (Alistarh et al. 2017, arXiv 1610.02132, §3.1). What it loses is returned, to be added to
the device's next update (error feedback: Seide et al. 2014, doi 10.21437/Interspeech.2014-274; Karimireddy et al. 2019,
arXiv 1901.09847, Algorithm 2).
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from itertools import accumulate
from typing import Annotated, ClassVar, Literal, NamedTuple, cast

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie_learning.codec import Codec, Coded, CodedPayload, Encoded, check_update, row_length
from coterie_learning.random import random_bytes
from coterie_wire.bundle import Shape, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import TensorFile
from coterie_wire.tensors import Float32, Tensors

Codes = NDArray[np.int8]

LEVELS = 127
"""Codes lie in [-127, 127]; zero is exact."""
SMALLEST_CHANNEL = 128
"""Parameters. A scale takes 4 bytes, so those of channels add at most 1/32 to the codes, whatever the shapes."""
LARGEST_SCALE = np.float32(np.finfo(np.float32).max / 128)
"""Above it a code could stand for a number that is not finite."""


class Int8(Codec, frozen=True, tag="int8"):
    """A parameter is its code times its scale; a scale is the largest magnitude it serves, divided by 127.

    The payload holds ``code.NAME`` int8 in the shape of each tensor, and all scales, in the order of the names, in one
    tensor ``scale`` float32. Biases and other short tensors are coded like the rest.
    """

    granularity: Annotated[
        Literal["tensor", "channel"],
        Meta(description="one scale for each tensor, or one for each output channel that has at least 128 parameters"),
    ] = "channel"
    summable: ClassVar[bool] = True

    def encode(self, update: Tensors, *, seed: int) -> Encoded:
        check_update(update)
        codes: dict[str, NDArray[np.int8]] = {}
        residual: dict[str, Float32] = {}
        scales: list[Float32] = [np.empty(0, np.float32)]
        for name in sorted(update):
            tensor = update[name]
            rows = tensor.reshape(self.scale_count(tensor.shape), -1)
            scale = np.minimum(np.abs(rows).max(axis=1, keepdims=True, initial=0) / np.float32(LEVELS), LARGEST_SCALE)
            divisor: Float32 = np.where(scale > 0, scale, np.float32(1))
            code = _round_at_random(rows / divisor, seed, name)
            codes[f"code.{name}"] = code.reshape(tensor.shape)
            residual[name] = (rows - code * scale).reshape(tensor.shape)
            scales.append(scale.reshape(-1))
        return Encoded(self.pack({**codes, "scale": np.concatenate(scales)}), residual)

    def stored(self, expected: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
        return _layout(self, expected).stored

    def payload(self, stored: TensorFile, expected: tuple[TensorSpec, ...]) -> CodedPayload:
        layout = _layout(self, expected)
        scales = cast(Float32, stored.read("scale", 0, layout.scales))
        # A comparison with NaN is false.
        if not np.all((scales >= 0) & (scales <= LARGEST_SCALE)):
            raise WireError("update.not_finite", f"a scale is not between 0 and {LARGEST_SCALE}")
        return _Payload(stored, expected, {name: scales[place] for name, place in layout.places.items()})

    def scale_count(self, shape: Shape) -> int:
        """Scales of a tensor."""
        fine = self.granularity == "channel" and shape and math.prod(shape) >= shape[0] * SMALLEST_CHANNEL > 0
        return shape[0] if fine else 1


class _Layout(NamedTuple):
    """Of the payloads of one model."""

    stored: tuple[TensorSpec, ...]
    scales: int
    places: Mapping[str, slice]
    """Of each tensor's scales among all."""


@lru_cache(maxsize=8)
def _layout(codec: Int8, expected: tuple[TensorSpec, ...]) -> _Layout:
    counts = {spec.name: codec.scale_count(spec.shape) for spec in sorted(expected, key=lambda spec: spec.name)}
    ends = list(accumulate(counts.values(), initial=0))
    codes = (TensorSpec(f"code.{spec.name}", "int8", spec.shape) for spec in expected)
    places = {name: slice(start, end) for name, start, end in zip(counts, ends, ends[1:], strict=False)}
    return _Layout((*codes, TensorSpec("scale", "float32", (ends[-1],))), ends[-1], places)


def _round_at_random(levels: Float32, seed: int, name: str) -> NDArray[np.int8]:
    """floor(x + u) with u uniform in (0, 1): up with the probability of the fraction, so that the mean is x.

    A u has 16 bits, little-endian, of the path ``SEED/dither/NAME``, in the order of the elements. So few bits bias the
    mean by less than 2**-17 of a level.
    """
    drawn = np.frombuffer(random_bytes(2 * levels.size, seed, "dither", name), "<u2")
    dither = drawn.astype(np.float32).reshape(levels.shape)
    dither += np.float32(0.5)
    dither *= np.float32(2**-16)
    dither += levels
    np.floor(dither, out=dither)
    return np.clip(dither, -LEVELS, LEVELS, out=dither).astype(np.int8)


class _Payload(CodedPayload):
    """The numbers of a payload; `scales` are those of each tensor."""

    def __init__(self, stored: TensorFile, expected: tuple[TensorSpec, ...], scales: Mapping[str, Float32]) -> None:
        super().__init__(stored, expected)
        self._scales = scales

    def coded(self, name: str, start: int, stop: int) -> Coded:
        codes, scales = cast(Codes, self._stored.read(f"code.{name}", start, stop)), self._scales[name]
        if len(scales) == 1:
            return Coded(codes.reshape(1, -1), scales[:1])
        row = row_length(self.specs[name].shape)
        first, last = start // row, (stop - 1) // row + 1
        return Coded(codes.reshape(last - first, -1), scales[first:last])
