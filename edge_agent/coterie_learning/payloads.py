"""Payloads of updates, read and decoded a span of parameters at a time."""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_wire.bundle import TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import TensorFile
from coterie_wire.tensors import Float32

SPAN = 1 << 16
"""Parameters read at once when a whole payload is scanned; as float32 they fit into the processor's cache."""


LARGEST_CODE = 128
"""Largest magnitude of an int8."""


class Coded(NamedTuple):
    """A span of a tensor as integers: parameter [row, column] is codes[row, column] · scales[row]."""

    codes: NDArray[np.int8]
    """[rows, width]."""
    scales: Float32
    """[rows], not negative."""


class Extent(NamedTuple):
    """How large an update is."""

    bound: float
    """Upper bound of all parameters' magnitudes."""
    norm: float
    """L2 norm over all its tensors."""


class Payload:
    """A payload whose header has been checked. Its numbers are read and decoded a span at a time.

    A span is a range of the flattened tensor: a number of whole rows (of the first axis), or a part of one row.
    """

    def __init__(self, stored: TensorFile, expected: tuple[TensorSpec, ...]) -> None:
        self._stored = stored
        self.specs: Mapping[str, TensorSpec] = {spec.name: spec for spec in expected}

    def numbers(self, name: str, start: int, stop: int) -> Float32:
        """Parameters [start, stop) of tensor `name`, [stop - start]; they may be not finite.

        Raises OSError or WireError ``tensors.malformed``.
        """
        raise NotImplementedError

    def coded(self, name: str, start: int, stop: int) -> Coded:
        """The same as integers, for a codec that is `summable`; stop > start. Raises what `numbers` raises."""
        raise NotImplementedError

    def extent(self) -> Extent:
        """Computed from every number, a span at a time.

        Raises OSError, or WireError ``tensors.malformed`` or ``update.not_finite``.
        """
        bound, squares = 0.0, []
        for spec in self.specs.values():
            for start, stop in row_spans(spec.shape, SPAN):
                numbers = self.numbers(spec.name, start, stop)
                magnitude = max(float(numbers.max(initial=0)), -float(numbers.min(initial=0)))
                if not math.isfinite(magnitude):  # NaN passes through both extremes
                    raise WireError("update.not_finite", f"tensor {spec.name} holds a number that is not finite")
                wide = numbers.astype(np.float64)
                bound = max(bound, magnitude)
                squares.append(float(np.einsum("i,i->", wide, wide)))  # a product by BLAS would start threads
        return Extent(bound, math.sqrt(math.fsum(squares)))


class CodedPayload(Payload):
    """A payload of integers times scales, whose weighted sums with others are sums of integers."""

    def numbers(self, name: str, start: int, stop: int) -> Float32:
        if start == stop:
            return np.empty(0, np.float32)
        codes, scales = self.coded(name, start, stop)
        return np.multiply(codes, scales[:, None], dtype=np.float32).reshape(-1)

    def largest_code(self, codes: NDArray[np.int8]) -> int:  # noqa: ARG002
        """Upper bound of the magnitudes of `codes`; by default not computed, as scales are chosen to reach it."""
        return LARGEST_CODE

    def extent(self) -> Extent:
        bound, squares = 0.0, []
        levels = np.empty(
            min(SPAN, max((math.prod(spec.shape) for spec in self.specs.values()), default=0)), np.float32
        )
        for spec in self.specs.values():
            for start, stop in row_spans(spec.shape, SPAN):
                codes, scales = self.coded(spec.name, start, stop)
                wide = scales.astype(np.float64)
                bound = max(bound, self.largest_code(codes) * float(wide.max()))
                rows = levels[: codes.size].reshape(codes.shape)
                rows[...] = codes
                # Sums in float32 are exact to four digits or more, enough to compare norms with multiples.
                squares.append(float(np.dot(np.einsum("ij,ij->i", rows, rows), wide * wide)))
        return Extent(bound, math.sqrt(math.fsum(squares)))


def row_length(shape: tuple[int, ...]) -> int:
    """Numbers in a row of the first axis."""
    return math.prod(shape[1:])


def row_spans(shape: tuple[int, ...], most: int) -> Iterator[tuple[int, int]]:
    """Divide a flattened tensor of `shape` into spans of at most `most`: whole rows, or parts of one row."""
    size, row = math.prod(shape), row_length(shape)
    if row <= most:
        step = most // max(row, 1) * row
        for start in range(0, size, max(step, 1)):
            yield start, min(start + step, size)
        return
    for begin in range(0, size, row):
        for start in range(begin, begin + row, most):
            yield start, min(start + most, begin + row)
