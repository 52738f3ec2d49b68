"""Quantisation to integers times scales, and the layout of the scales in payloads.

A scale is the largest magnitude in its tensor or channel, divided by the largest level, and rounded up to four
significant bits. This makes a step 6 % coarser on average; in return, sums of updates with different scales have only
four bits more than their codes, instead of all those of a float32. The rounding is that of QSGD (Alistarh et al. 2017,
arXiv 1610.02132, §3.1).
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from coterie_learning.payloads import Coded, CodedPayload, row_length
from coterie_learning.random import random_bytes
from coterie_wire.bundle import Shape, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import TensorFile
from coterie_wire.tensors import Float32, Tensors

Codes: TypeAlias = NDArray[np.int8]
Granularity: TypeAlias = Literal["tensor", "channel"]
"""One scale for each tensor, or one for each output channel that has at least `SMALLEST_CHANNEL` parameters."""

SMALLEST_CHANNEL = 128
"""Parameters. A scale takes 4 bytes, so those of channels add at most 1/32 to codes of a byte, whatever the shapes."""
MOST = 127
"""The largest level of either sign in an int8."""
MANTISSA_BITS, SCALE_BITS = 24, 4
"""Significant bits of a float32, and of a scale computed here."""
SCALE = "scale"
"""All scales of a payload, in the order of the tensors' names."""


class Rounded(NamedTuple):
    """A tensor as integers, and the rounding error."""

    codes: Codes
    """Integers in the tensor's shape."""
    scales: Float32
    """One scale for each row, or one for the tensor."""
    residual: Float32


def round_tensor(tensor: Float32, levels: int, granularity: Granularity, *, seed: int, name: str) -> Rounded:
    """`tensor` with codes in [-levels, levels], stochastically rounded: zero is exact, the mean is unbiased."""
    rows = tensor.reshape(scale_count(tensor.shape, granularity), -1)
    fine = np.abs(rows).max(axis=1, keepdims=True, initial=0) / np.float32(levels)
    scale = np.minimum(_few_bits(fine), largest_scale(levels))
    divisor: Float32 = np.where(scale > 0, scale, np.float32(1))
    codes = _round_at_random(rows / divisor, levels, seed, name)
    return Rounded(codes.reshape(tensor.shape), scale.reshape(-1), (rows - codes * scale).reshape(tensor.shape))


def round_tensors(tensors: Tensors, levels: int, granularity: Granularity, *, seed: int) -> Mapping[str, Rounded]:
    """Round each tensor independently."""
    return {name: round_tensor(tensor, levels, granularity, seed=seed, name=name) for name, tensor in tensors.items()}


def round_to_nearest(tensor: Float32, scale: float, levels: int = MOST) -> Rounded:
    """`tensor` with codes in [-levels, levels] of step `scale`; zero is exact, halves are rounded to the even code."""
    step = np.minimum(np.float32(scale), largest_scale(MOST))
    codes = np.clip(np.rint(tensor / (step if step > 0 else np.float32(1))), -levels, levels).astype(np.int8)
    return Rounded(codes, np.array([step], np.float32), tensor - codes * step)


def root_mean_square(tensor: Float32) -> float:
    """Computed in float64; squares are added one after the other, so that every processor gives the same bits."""
    if not tensor.size:
        return 0.0
    squares = tensor.reshape(-1).astype(np.float64)
    squares *= squares
    return math.sqrt(float(np.add.accumulate(squares, out=squares)[-1]) / tensor.size)


def joined_scales(scales: Mapping[str, Float32]) -> Float32:
    """All scales in one tensor."""
    return np.concatenate([np.empty(0, np.float32), *(scales[name] for name in sorted(scales))])


def largest_scale(levels: int) -> np.float32:
    """The largest scale for which every code decodes to a finite number."""
    return np.float32(np.finfo(np.float32).max / (levels + 1))


def scale_count(shape: Shape, granularity: Granularity) -> int:
    """The number of scales of a tensor."""
    fine = granularity == "channel" and shape and math.prod(shape) >= shape[0] * SMALLEST_CHANNEL > 0
    return shape[0] if fine else 1


def _few_bits(scales: Float32) -> Float32:
    """Each rounded up to `SCALE_BITS` significant bits; nonnegative float32 numbers are ordered like their bits as
    integers."""
    mask = np.uint32((1 << (MANTISSA_BITS - SCALE_BITS)) - 1)
    return ((np.ascontiguousarray(scales).view(np.uint32) + mask) & ~mask).view(np.float32)


class Places(NamedTuple):
    """The positions of each tensor's scales in a payload."""

    scales: int
    of: Mapping[str, slice]


@lru_cache(maxsize=8)
def scale_places(expected: tuple[TensorSpec, ...], granularity: Granularity) -> Places:
    """Positions for the payloads of one model."""
    ordered = sorted(expected, key=lambda spec: spec.name)
    ends = list(accumulate((scale_count(spec.shape, granularity) for spec in ordered), initial=0))
    slices = (slice(start, end) for start, end in pairwise(ends))
    return Places(ends[-1], {spec.name: place for spec, place in zip(ordered, slices, strict=True)})


class LevelsPayload(CodedPayload):
    """A payload with a tensor ``scale``."""

    def __init__(
        self, stored: TensorFile, expected: tuple[TensorSpec, ...], levels: int, granularity: Granularity
    ) -> None:
        """Reads the scales. Raises OSError, or WireError ``tensors.malformed`` or ``update.not_finite``."""
        super().__init__(stored, expected)
        places = scale_places(expected, granularity)
        scales = cast(Float32, stored.read(SCALE, 0, places.scales))
        # A comparison with NaN is false.
        if not np.all((scales >= 0) & (scales <= largest_scale(levels))):
            raise WireError("update.not_finite", f"a scale is not between 0 and {largest_scale(levels)}")
        self._scales: Tensors = {name: scales[place] for name, place in places.of.items()}

    def codes(self, name: str, start: int, stop: int) -> Codes:
        """The codes [start, stop) of the flattened tensor `name`."""
        raise NotImplementedError

    def coded(self, name: str, start: int, stop: int) -> Coded:
        codes, scales = self.codes(name, start, stop), self._scales[name]
        if len(scales) == 1:
            return Coded(codes.reshape(1, -1), scales)
        row = row_length(self.specs[name].shape)
        first, last = start // row, (stop - 1) // row + 1
        return Coded(codes.reshape(last - first, -1), scales[first:last])


def _round_at_random(numbers: Float32, levels: int, seed: int, name: str) -> Codes:
    """floor(x + u) with u uniform in (0, 1): rounded up with the probability of the fraction, so that the mean is x.

    Each u is 16 bits, little-endian, of the path ``SEED/dither/NAME``, in the order of the elements. With 16 bits the
    mean is biased by less than 2**-17 of a level.
    """
    drawn = np.frombuffer(random_bytes(2 * numbers.size, seed, "dither", name), "<u2")
    dither = drawn.astype(np.float32).reshape(numbers.shape)
    dither += np.float32(0.5)
    dither *= np.float32(2**-16)
    dither += numbers
    np.floor(dither, out=dither)
    return np.clip(dither, -levels, levels, out=dither).astype(np.int8)
