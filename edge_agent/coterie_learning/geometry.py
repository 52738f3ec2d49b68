"""Norms and pairwise distances of a round's updates, from the stored files in bounded memory.

One pass over the updates, a block of parameters at a time, sums the products of all pairs. A block's numbers are
rounded to 22 bits of the largest of its update, so that every product and every sum of a block is an integer multiple
of a step, exact in float64: order of additions, number of threads and the algebra library do not change a bit. Blocks
are added in their order. The relative error of distances is about a millionth.

Memory is a block of all updates (16 MiB) and three numbers for each pair of them.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np

from coterie_learning.fold import ElementSpan, blocks
from coterie_learning.local import DELTA
from coterie_learning.merge import Float64, Geometry
from coterie_learning.update_files import UpdateFile
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Float32

Opens = Sequence[Callable[[], AbstractContextManager[UpdateFile]]]

NUMBERS = 1 << 22
"""Numbers of a block, one for each update and parameter: 16 MiB."""
TOGETHER = 1024
"""Parameters whose products are added at once."""
_LEVEL_BITS = 21
"""22 bits with the sign: (2^21)² · 1024 is 2^52, and float64 represents every integer up to 2^53."""


def geometry(
    specs: Sequence[TensorSpec], updates: Opens, *, parts: Sequence[str] = (DELTA,), distances: bool = True
) -> Geometry:
    """Norms and distances of at least one update, over all `parts` together; without `distances` the norms alone.

    The numbers of an update are finite. Raises OSError or WireError ``tensors.malformed`` where one can no longer be
    read.
    """
    count = len(updates)
    total = np.zeros((count, count) if distances else count)
    for part in parts:
        for spans in blocks(specs, max(TOGETHER, NUMBERS // count)):
            numbers = _numbers(part, spans, updates)
            for start in range(0, numbers.shape[1], TOGETHER):
                levels = _whole_levels(numbers[:, start : start + TOGETHER])
                total += levels @ levels.T if distances else np.einsum("ij,ij->i", levels, levels)
    squares = total.diagonal().copy() if distances else total
    return Geometry(np.sqrt(squares), _between(squares, total) if distances else np.empty((0, 0)))


def _numbers(part: str, spans: Mapping[str, ElementSpan], updates: Opens) -> Float32:
    """[updates, parameters] of a block."""
    numbers = np.empty((len(updates), sum(span.stop - span.start for span in spans.values())), np.float32)
    for index, update in enumerate(updates):
        place = 0
        with update() as file:
            for name, span in spans.items():
                size = span.stop - span.start
                numbers[index, place : place + size] = file.numbers(name, span.start, span.stop, part=part)
                place += size
    return numbers


def _whole_levels(numbers: Float32) -> Float64:
    """`numbers`, each rounded to a multiple of its row's step, which is a power of two."""
    largest = np.abs(numbers).max(axis=1, initial=0).astype(np.float64)
    step = np.ldexp(1.0, np.frexp(largest)[1] - _LEVEL_BITS)[:, None]  # the largest is below 2^exponent
    levels: Float64 = numbers / step
    np.rint(levels, out=levels)
    levels *= step
    return levels


def _between(squares: Float64, products: Float64) -> Float64:
    """|u_i - u_j|² = |u_i|² + |u_j|² - 2 u_i·u_j, in place of `products`."""
    products *= -2
    products += squares[:, None] + squares[None, :]
    np.maximum(products, 0, out=products)
    return products
