"""A random subset of each tensor's parameters, told by one number: what devices train and send under some plans.

Of n parameters one is chosen in each of k stretches that are as long as one another but for one, and where the first of
them begins is drawn, too: every parameter is chosen with the probability k/n (systematic sampling by strata, Cochran
1977, Sampling Techniques, §5 and §8). Unlike an order of all parameters, it costs what it chooses.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from coterie_learning.payloads import Extent, Payload
from coterie_learning.random import derive_seed, random_bytes
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Float32, Tensors

Positions = NDArray[np.int64]
"""Of the chosen in a flattened tensor, ascending."""


def draw_of(seed: int) -> int:
    """The number that tells the subset of a training with `seed`."""
    return derive_seed(seed, "subset")


def count_of(share: float, parameters: int) -> int:
    """How many of a tensor's parameters are chosen; at least one of any that has some."""
    return min(parameters, max(1, math.floor(share * parameters)))


def chosen(specs: Iterable[TensorSpec], share: float, draw: int) -> Mapping[str, Positions]:
    """Which of each tensor's parameters the subset `draw` has."""
    sizes = {spec.name: math.prod(spec.shape) for spec in specs}
    return {name: _positions(size, count_of(share, size), draw, name) for name, size in sizes.items()}


def chosen_specs(specs: Iterable[TensorSpec], share: float) -> tuple[TensorSpec, ...]:
    """What `specs` are once only the chosen are left, flat."""
    return tuple(TensorSpec(spec.name, spec.dtype, (count_of(share, math.prod(spec.shape)),)) for spec in specs)


def pick_chosen(tensors: Tensors, positions: Mapping[str, Positions]) -> Tensors:
    """The chosen parameters alone."""
    return {name: tensor.reshape(-1)[positions[name]] for name, tensor in tensors.items()}


def place_chosen(picked: Tensors, positions: Mapping[str, Positions], rest: Tensors) -> Tensors:
    """The inverse of `pick_chosen`: the others are those of `rest`."""
    placed = {}
    for name, tensor in picked.items():
        whole = rest[name].astype(np.float32)
        whole.reshape(-1)[positions[name]] = tensor
        placed[name] = whole
    return placed


class PlacedPayload(Payload):
    """A payload of chosen parameters as one of whole tensors, zero wherever nothing was chosen."""

    def __init__(self, picked: Payload, expected: tuple[TensorSpec, ...], positions: Mapping[str, Positions]) -> None:
        self.specs = {spec.name: spec for spec in expected}
        self._picked, self._positions = picked, positions

    def numbers(self, name: str, start: int, stop: int) -> Float32:
        positions = self._positions[name]
        first, last = np.searchsorted(positions, (start, stop)).tolist()
        found = np.zeros(stop - start, np.float32)
        found[positions[first:last] - start] = self._picked.numbers(name, first, last)
        return found

    def extent(self) -> Extent:
        return self._picked.extent()


def _positions(parameters: int, count: int, draw: int, name: str) -> Positions:
    if count == parameters:
        return np.arange(parameters, dtype=np.int64)
    lots = np.frombuffer(random_bytes(4 * (count + 1), draw, "chosen", name), "<u4").astype(np.int64)
    ends = np.arange(count + 1, dtype=np.int64) * parameters // count
    inside = lots[1:] * np.diff(ends) >> 32
    return np.sort((ends[:-1] + inside + (lots[0] * parameters >> 32)) % parameters)
