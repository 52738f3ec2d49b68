"""Randomised Hadamard transforms: rotations that spread the energy of a few numbers over all of them.

Ailon & Chazelle 2009 (doi 10.1137/060673096): random signs, then the Walsh-Hadamard matrix over the square root of its
size. The butterflies are sums of two float32 each, so that every processor gives the same bits.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from coterie_learning.random import random_bytes
from coterie_wire.tensors import Float32

LARGEST_BLOCK = 1 << 13
"""Most numbers that are rotated together, so that a span is decoded in little memory."""


class BlockSpan(NamedTuple):
    """A part of a vector whose length is a power of two."""

    start: int
    stop: int


@lru_cache(maxsize=8)
def power_blocks(count: int) -> tuple[BlockSpan, ...]:
    """Divide a vector of `count` numbers into blocks of powers of two, the largest first, so that none is padded."""
    return tuple(_power_blocks(count))


def _power_blocks(count: int) -> Iterator[BlockSpan]:
    start = 0
    while start < count:
        size = min(LARGEST_BLOCK, 1 << ((count - start).bit_length() - 1))
        yield BlockSpan(start, start + size)
        start += size


def random_signs(count: int, seed: int, block: int) -> Float32:
    """1 or -1, `count` of them: the bits of the path ``SEED/rotation/BLOCK``, the lowest of each byte first."""
    drawn = np.frombuffer(random_bytes((count + 7) // 8, seed, "rotation", block), np.uint8)
    bits = np.unpackbits(drawn, count=count, bitorder="little")
    return np.float32(1) - np.float32(2) * bits.astype(np.float32)


def hadamard(vector: Float32) -> Float32:
    """The product of `vector` [power of two] with the Walsh-Hadamard matrix, not normalised.

    Computed as a table, first by columns and then by rows, so that additions are on contiguous memory.
    """
    columns = 1 << (vector.size.bit_length() - 1) // 2
    half = _of_columns(vector.reshape(-1, columns))
    return _of_columns(np.ascontiguousarray(half.T)).T.reshape(-1)


def _of_columns(table: Float32) -> Float32:
    """The transform of each column of `table` [power of two, columns]."""
    rows, columns = table.shape
    found, step = table, 1
    while step < rows:
        pairs = found.reshape(rows // (2 * step), 2, step * columns)
        found = np.empty_like(pairs)
        np.add(pairs[:, 0], pairs[:, 1], out=found[:, 0])
        np.subtract(pairs[:, 0], pairs[:, 1], out=found[:, 1])
        step *= 2
    return found.reshape(rows, columns)
