"""Partial aggregates: the exact weighted sum of some updates, as a file, and its verification without trust.

The sums are the same as in a merge (`exact_sum`), so that adding partial aggregates, in any tree, gives the same bits
as adding updates. In a file the integers of all parts and parameters are concatenated in the order of their names and
divided into chunks. The integers of a chunk are divided by their greatest common divisor, such as a weight common to
all updates, and stored in two's complement as byte planes, least significant first, without planes that only repeat
the sign. Each plane is deflated separately, since the upper ones have low entropy.

A sum is verified by a random linear function (Freivalds 1977): an update's `fingerprint` is its inner product with
random numbers, modulo two primes; that of a sum is the weighted sum of the updates' fingerprints. A change by a party
that does not know the random numbers goes undetected with a probability of 2^-61.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from nacl.utils import randombytes_deterministic
from numpy.typing import NDArray

from coterie_learning.codec import Codec
from coterie_learning.exact_sum import GRID_BITS, LARGEST, Int64
from coterie_learning.local import Local
from coterie_learning.packings import deflate, inflate
from coterie_learning.update_sizes import update_bytes
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import Source, TensorFile, open_tensors
from coterie_wire.tensors import Array, encode_tensors

Sums = Mapping[str, Int64]
"""Flat integers by ``PART.NAME``."""
PRIMES = (2**31 - 1, 2**31 - 19)
MOST_PLANES = 8
CHUNK = 1 << 16
"""Integers of a chunk; reading a span takes the memory of one chunk."""
OVERHEAD_BYTES = 4096
CHUNK_OVERHEAD_BYTES = 2048
"""Upper bounds of the overhead of a file and of each chunk: header, steps, sizes, and deflate."""
STEPS = "steps"
"""int64 [chunks]: the common divisor of each chunk's integers."""
SIZES = "sizes"
"""int32 [chunks, planes]: the size in bytes of each deflated plane; 0: there is none."""
PLANES = "planes"
"""uint8: the deflated planes, one after the other."""
SUM = "sum"
"""Metadata of a file: the requester's name for the set of updates."""


class Fingerprint(NamedTuple):
    """An inner product modulo each of `PRIMES`."""

    first: int
    second: int


class PartialSum(NamedTuple):
    """A verified partial aggregate of some updates of a merge."""

    file: "PartialFile"
    weights: Sequence[int]
    """Weights of its updates; 0: left out."""
    full: Sequence[int] | None = None
    """Their weights if none were stale; None: the same."""


def key_of(part: str, name: str) -> str:
    """The name of the sum of a part of the update."""
    return f"{part}.{name}"


def sum_specs(model: ModelSpec, local: Local) -> Mapping[str, int]:
    """The names and sizes of the sums of updates of `model`."""
    return {key_of(part, spec.name): math.prod(spec.shape) for part in local.parts for spec in model.parameters}


def added(sums: Iterable[Sums]) -> Sums:
    """The sum of at least one partial aggregate of the same parameters."""
    first, *others = sums
    total = {name: numbers.copy() for name, numbers in first.items()}
    for other in others:
        for name, numbers in total.items():
            numbers += other[name]
    return total


def encode_sums(sums: Sums, *, of: str) -> bytes:
    """The file of a partial aggregate."""
    vector = np.concatenate([np.empty(0, np.int64), *(sums[name] for name in sorted(sums))])
    packed = [_packed(vector[start : start + CHUNK]) for start in range(0, vector.size, CHUNK)]
    sizes = np.zeros((len(packed), MOST_PLANES), np.int32)
    for chunk, (_, planes) in enumerate(packed):
        sizes[chunk, : len(planes)] = [len(plane) for plane in planes]
    tensors: Mapping[str, Array] = {
        STEPS: np.array([step for step, _ in packed], np.int64),
        SIZES: sizes,
        PLANES: np.frombuffer(b"".join(plane for _, planes in packed for plane in planes), np.uint8),
    }
    return encode_tensors(tensors, {SUM: of})


class PartialFile:
    """An open partial aggregate; its header, steps and sizes have been checked."""

    def __init__(self, source: Source, *, expected: Mapping[str, int], of: str) -> None:
        """`expected` are the names and sizes of the sums.

        Raises OSError, or WireError ``tensors.malformed`` or ``partial.malformed``.
        """
        names = sorted(expected)
        self._starts = dict(zip(names, accumulate((expected[name] for name in names), initial=0), strict=False))
        self._expected, self._count = {name: expected[name] for name in names}, sum(expected.values())
        self._file: TensorFile = open_tensors(source)
        header, chunks = self._file.header, -(-self._count // CHUNK)
        if header.metadata != {SUM: of}:
            raise _malformed(f"it is not the sum {of}")
        length = math.prod(header.specs[PLANES].shape) if PLANES in header.specs else 0
        specs = (
            TensorSpec(STEPS, "int64", (chunks,)),
            TensorSpec(SIZES, "int32", (chunks, MOST_PLANES)),
            TensorSpec(PLANES, "uint8", (length,)),
        )
        if header.specs != {spec.name: spec for spec in specs}:
            raise _malformed(f"its tensors are not those of a sum of {self._count} parameters")
        self._steps = self._file.read(STEPS, 0, chunks)
        self._sizes = self._file.read(SIZES, 0, chunks * MOST_PLANES).reshape(chunks, MOST_PLANES)
        if self._steps.min(initial=1) < 1 or self._sizes.min(initial=0) < 0 or int(self._sizes.sum()) != length:
            raise _malformed("its steps are not positive, or its planes are not as long as it says")
        self._ends = np.cumsum(self._sizes, axis=None, dtype=np.int64)
        self._kept: tuple[int, Int64] = (-1, np.empty(0, np.int64))

    def numbers(self, name: str, start: int, stop: int) -> Int64:
        """Integers [start, stop) of the sum `name`.

        Raises OSError, or WireError ``tensors.malformed`` or ``partial.malformed``.
        """
        first, last = self._starts[name] + start, self._starts[name] + stop
        found = np.empty(stop - start, np.int64)
        for chunk in range(first // CHUNK, -(-last // CHUNK)):
            begin = chunk * CHUNK
            low, high = max(first, begin), min(last, begin + CHUNK)
            found[low - first : high - first] = self._chunk(chunk)[low - begin : high - begin]
        return found

    def _chunk(self, chunk: int) -> Int64:
        """The last chunk is cached: spans are read one after the other."""
        if self._kept[0] != chunk:
            count = min(CHUNK, self._count - chunk * CHUNK)
            total = np.zeros(count, np.int64)
            used = [plane for plane in range(MOST_PLANES) if self._sizes[chunk, plane]]
            for plane in used:
                end = int(self._ends[chunk * MOST_PLANES + plane])
                stream = self._file.read(PLANES, end - int(self._sizes[chunk, plane]), end).tobytes()
                try:
                    read = inflate(stream, count)
                except WireError as error:
                    raise _malformed(error.detail) from error
                signed = read.view(np.int8) if plane == used[-1] else read
                total |= signed.astype(np.int64) << (8 * plane)
            total *= self._steps[chunk]
            self._kept = (chunk, total)
        return self._kept[1]

    def sums(self) -> Iterator[tuple[str, Int64]]:
        """All sums. Raises what `numbers` raises."""
        for name, size in self._expected.items():
            yield name, self.numbers(name, 0, size)

    def check(self, seed: bytes, members: Sequence[tuple[int, Fingerprint]]) -> None:
        """Verify it by the weights and fingerprints of the updates.

        Raises what `numbers` raises, or WireError ``partial.out_of_range`` or ``partial.altered``.
        """
        self.compare(seed, weight=sum(weight for weight, _ in members), wanted=combined(members))

    def compare(self, seed: bytes, *, weight: int, wanted: Fingerprint) -> None:
        """Like `check`, given the weight of all updates together and the fingerprint of their sum."""
        most = weight * int(LARGEST) << GRID_BITS
        found = Fingerprint(0, 0)
        for name, numbers in self.sums():
            if numbers.max(initial=0) > most or numbers.min(initial=0) < -most:
                raise WireError("partial.out_of_range", f"the sum of {name} is larger than its updates can make it")
            found = _plus(found, _inner(seed, name, numbers), 1)
        if found != wanted:
            raise WireError("partial.altered", "it is not the sum of the updates that its devices handed in")


def fingerprint(seed: bytes, sums: Iterable[tuple[str, Int64]]) -> Fingerprint:
    """The fingerprint of an update or a sum, with random numbers from `seed` (32 secret bytes)."""
    found = Fingerprint(0, 0)
    for name, numbers in sums:
        found = _plus(found, _inner(seed, name, numbers), 1)
    return found


def combined(members: Iterable[tuple[int, Fingerprint]]) -> Fingerprint:
    """The fingerprint of the sum of updates with these weights and fingerprints, all by one seed."""
    wanted = Fingerprint(0, 0)
    for weight, one in members:
        wanted = _plus(wanted, one, weight)
    return wanted


def most_bytes(model: ModelSpec, local: Local) -> int:
    """Upper bound of the size of the file of a partial aggregate."""
    count = sum(sum_specs(model, local).values())
    return OVERHEAD_BYTES + MOST_PLANES * count + CHUNK_OVERHEAD_BYTES * -(-count // CHUNK)


def saved_bytes(local: Local, codec: Codec, model: ModelSpec, *, members: int) -> int:
    """About how many fewer bytes leave a site when the updates of so many devices leave it as one sum.

    The supernode's own update is sent to the platform separately either way. Raises WireError ``plan.no_head``.
    """
    sum_bytes = round(codec.sum_bytes * sum(sum_specs(model, local).values()))
    return members * update_bytes(local, codec, model).usual - sum_bytes


def _packed(numbers: Int64) -> tuple[int, Sequence[bytes]]:
    """The common divisor of a chunk's integers, and the deflated planes of the quotients."""
    step = int(np.gcd.reduce(numbers)) or 1
    quotients = numbers // step
    low, high = int(quotients.min()), int(quotients.max())
    bits = 1 + max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0)
    return step, [deflate((quotients >> (8 * plane)).astype(np.uint8)) for plane in range(-(-bits // 8))]


def _inner(seed: bytes, name: str, numbers: Int64) -> Fingerprint:
    key = hashlib.sha256(seed + name.encode()).digest()
    drawn = np.frombuffer(randombytes_deterministic(8 * numbers.size, key), "<u4").reshape(-1, 2)
    return Fingerprint(*(_modulo(numbers, drawn[:, place], prime) for place, prime in enumerate(PRIMES)))


def _modulo(numbers: Int64, drawn: NDArray[np.uint32], prime: int) -> int:
    """Factors are below 2^31, and so are the reduced products that are added."""
    products = (numbers % prime) * (drawn.astype(np.int64) % prime)
    return int((products % prime).sum()) % prime


def _plus(left: Fingerprint, right: Fingerprint, weight: int) -> Fingerprint:
    return Fingerprint(*((one + weight * other) % prime for one, other, prime in zip(left, right, PRIMES, strict=True)))


def _malformed(detail: str) -> WireError:
    return WireError("partial.malformed", detail)
