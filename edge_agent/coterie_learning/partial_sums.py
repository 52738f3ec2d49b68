"""Partial aggregates: the exact weighted sum of some updates, as a file, and how it is checked without trust.

The sums are those that a merge forms itself (`exact_sum`), so that adding partial aggregates, in any tree, gives the
same bits as adding updates. A file holds one tensor for each part and parameter: its integers in two's complement, as
planes of bytes, least significant first, without the planes that only repeat the sign.

A sum is checked by a random linear function (Freivalds 1977): an update's `fingerprint` is its inner product with
random numbers, modulo two primes; that of a sum is the sum of the updates', each times its weight. Who does not know
the numbers is found out by all but one of 2^61 changes.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from nacl.utils import randombytes_deterministic
from numpy.typing import NDArray

from coterie_learning.codec import Codec
from coterie_learning.exact_sum import GRID_BITS, LARGEST, Int64
from coterie_learning.local import Local
from coterie_learning.update_sizes import update_bytes
from coterie_wire.bundle import ModelSpec
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import Source, TensorFile, open_tensors
from coterie_wire.tensors import encode_tensors

Sums = Mapping[str, Int64]
"""By ``PART.NAME``, the flat integers."""
PRIMES = (2**31 - 1, 2**31 - 19)
USUAL_PLANES = 5
"""Bytes a parameter of a usual sum; small models and many samples take 6."""
MOST_PLANES = 8
OVERHEAD_BYTES = 4096
TENSOR_OVERHEAD_BYTES = 512
"""At most, of a file and of each tensor, for names and shapes."""
SUM = "sum"
"""Metadata of a file: what it is the sum of, as the one who asked for it calls that."""


class Fingerprint(NamedTuple):
    """An inner product modulo each of `PRIMES`."""

    first: int
    second: int


class PartialSum(NamedTuple):
    """Some updates of a merge, summed elsewhere and checked."""

    file: "PartialFile"
    weights: Sequence[int]
    """Of its updates; 0: it was left out."""


def key_of(part: str, name: str) -> str:
    """What the sum of a part of the update is called."""
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
    return encode_tensors({name: _planes(numbers) for name, numbers in sums.items()}, {SUM: of})


class PartialFile:
    """A partial aggregate that is open; its header has been checked."""

    def __init__(self, source: Source, *, expected: Mapping[str, int], of: str) -> None:
        """Raises OSError, or WireError ``tensors.malformed`` or ``partial.malformed``."""
        self._file: TensorFile = open_tensors(source)
        header = self._file.header
        if header.metadata != {SUM: of}:
            raise WireError("partial.malformed", f"it is not the sum {of}")
        if header.specs.keys() != expected.keys():
            raise WireError("partial.malformed", "its tensors are not those of the updates")
        for name, size in expected.items():
            spec = header.specs[name]
            if spec.dtype != "uint8" or len(spec.shape) != 2 or not 1 <= spec.shape[0] <= 8 or spec.shape[1] != size:
                raise WireError("partial.malformed", f"tensor {name} is {spec.dtype} of {list(spec.shape)}")

    def numbers(self, name: str, start: int, stop: int) -> Int64:
        """Integers [start, stop) of the sum `name`. Raises OSError or WireError ``tensors.malformed``."""
        planes, size = self._file.header.specs[name].shape
        total = np.zeros(stop - start, np.int64)
        for plane in range(planes):
            read = self._file.read(name, plane * size + start, plane * size + stop)
            signed = read.view(np.int8) if plane + 1 == planes else read
            total |= signed.astype(np.int64) << (8 * plane)
        return total

    def sums(self) -> Iterator[tuple[str, Int64]]:
        """Each sum, whole. Raises OSError or WireError ``tensors.malformed``."""
        for name, spec in self._file.header.specs.items():
            yield name, self.numbers(name, 0, spec.shape[1])

    def check(self, seed: bytes, members: Sequence[tuple[int, Fingerprint]]) -> None:
        """Compare with the weights and fingerprints of the updates.

        Raises OSError, or WireError ``tensors.malformed``, ``partial.out_of_range`` or ``partial.altered``.
        """
        self.compare(seed, weight=sum(weight for weight, _ in members), wanted=combined(members))

    def compare(self, seed: bytes, *, weight: int, wanted: Fingerprint) -> None:
        """The same with the weight of all updates together, and what the fingerprint of their sum is."""
        most = weight * int(LARGEST) << GRID_BITS
        found = Fingerprint(0, 0)
        for name, numbers in self.sums():
            if numbers.max(initial=0) > most or numbers.min(initial=0) < -most:
                raise WireError("partial.out_of_range", f"the sum of {name} is larger than its updates can make it")
            found = _plus(found, _inner(seed, name, numbers), 1)
        if found != wanted:
            raise WireError("partial.altered", "it is not the sum of the updates that its devices handed in")


def fingerprint(seed: bytes, sums: Iterable[tuple[str, Int64]]) -> Fingerprint:
    """Of an update, or a sum, by the random numbers that `seed` (32 secret bytes) stands for."""
    found = Fingerprint(0, 0)
    for name, numbers in sums:
        found = _plus(found, _inner(seed, name, numbers), 1)
    return found


def combined(members: Iterable[tuple[int, Fingerprint]]) -> Fingerprint:
    """That of the sum of updates of which these are the weights and fingerprints, all by one seed."""
    wanted = Fingerprint(0, 0)
    for weight, one in members:
        wanted = _plus(wanted, one, weight)
    return wanted


def most_bytes(model: ModelSpec, local: Local) -> int:
    """How large the file of a partial aggregate is at most."""
    specs = sum_specs(model, local)
    return OVERHEAD_BYTES + sum(MOST_PLANES * size + TENSOR_OVERHEAD_BYTES + len(name) for name, size in specs.items())


def usual_bytes(model: ModelSpec, local: Local) -> int:
    """About how large a partial aggregate is."""
    return USUAL_PLANES * sum(sum_specs(model, local).values())


def saved_bytes(local: Local, codec: Codec, model: ModelSpec, *, members: int) -> int:
    """About how many bytes fewer leave a site when the updates of so many devices leave it as one sum.

    The supernode's own update goes to the platform by itself either way. Raises WireError ``plan.no_head``.
    """
    return members * update_bytes(local, codec, model).usual - usual_bytes(model, local)


def _planes(numbers: Int64) -> NDArray[np.uint8]:
    """[planes, elements]."""
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    bits = 1 + max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0)
    planes = max(1, -(-bits // 8))
    return np.stack([(numbers >> (8 * plane)).astype(np.uint8) for plane in range(planes)])


def _inner(seed: bytes, name: str, numbers: Int64) -> Fingerprint:
    key = hashlib.sha256(seed + name.encode()).digest()
    drawn = np.frombuffer(randombytes_deterministic(8 * numbers.size, key), "<u4").reshape(-1, 2)
    return Fingerprint(*(_modulo(numbers, drawn[:, place], prime) for place, prime in enumerate(PRIMES)))


def _modulo(numbers: Int64, drawn: NDArray[np.uint32], prime: int) -> int:
    """Factors are below 2^31, and so are the products that are added."""
    products = (numbers % prime) * (drawn.astype(np.int64) % prime)
    return int((products % prime).sum()) % prime


def _plus(left: Fingerprint, right: Fingerprint, weight: int) -> Fingerprint:
    return Fingerprint(*((one + weight * other) % prime for one, other, prime in zip(left, right, PRIMES, strict=True)))
