"""A random subset of each tensor's parameters, determined by one number: what devices train and send under some plans.

The n parameters are divided into k strata whose sizes differ by at most one, with a random offset, and one parameter is
drawn in each: every parameter is chosen with the probability k/n (stratified systematic sampling, Cochran 1977,
Sampling Techniques, §5 and §8). Unlike a permutation of all parameters, its cost is proportional to the number chosen.
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
"""Positions of the chosen in a flattened tensor, ascending."""


def draw_of(seed: int) -> int:
    """The number that determines the subset of a training with `seed`."""
    return derive_seed(seed, "subset")


def count_of(share: float, parameters: int) -> int:
    """How many of a tensor's parameters are chosen; at least one, unless it has none."""
    return min(parameters, max(1, math.floor(share * parameters)))


def chosen(specs: Iterable[TensorSpec], share: float, draw: int) -> Mapping[str, Positions]:
    """The positions of each tensor's parameters in the subset `draw`."""
    sizes = {spec.name: math.prod(spec.shape) for spec in specs}
    return {name: _positions(size, count_of(share, size), draw, name) for name, size in sizes.items()}


def chosen_specs(specs: Iterable[TensorSpec], share: float) -> tuple[TensorSpec, ...]:
    """The flat specs of the chosen parameters of `specs`."""
    return tuple(TensorSpec(spec.name, spec.dtype, (count_of(share, math.prod(spec.shape)),)) for spec in specs)


def pick_chosen(tensors: Tensors, positions: Mapping[str, Positions]) -> Tensors:
    """The chosen parameters."""
    return {name: tensor.reshape(-1)[positions[name]] for name, tensor in tensors.items()}


def place_chosen(picked: Tensors, positions: Mapping[str, Positions], rest: Tensors) -> Tensors:
    """The inverse of `pick_chosen`; the other parameters come from `rest`."""
    placed = {}
    for name, tensor in picked.items():
        whole = rest[name].astype(np.float32)
        whole.reshape(-1)[positions[name]] = tensor
        placed[name] = whole
    return placed


class PlacedPayload(Payload):
    """A payload of chosen parameters, read as whole tensors with zeros elsewhere."""

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
