"""An update as one flat vector: the elements of its tensors, in the order of their names."""

import hashlib
import math
from collections.abc import Mapping
from functools import lru_cache
from itertools import accumulate
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie_wire.bundle import TensorSpec

Scalar = TypeVar("Scalar", bound=np.generic)


def flat(tensors: Mapping[str, NDArray[Scalar]], dtype: type[Scalar]) -> NDArray[Scalar]:
    """The vector."""
    parts = [tensors[name].reshape(-1) for name in sorted(tensors)]
    return np.concatenate([np.empty(0, dtype), *parts])


def unflat(vector: NDArray[Scalar], specs: tuple[TensorSpec, ...]) -> Mapping[str, NDArray[Scalar]]:
    """The tensors of `vector`, as views into it."""
    starts = flat_starts(specs)
    return {
        spec.name: vector[starts[spec.name] : starts[spec.name] + math.prod(spec.shape)].reshape(spec.shape)
        for spec in specs
    }


def specs_of(update: Mapping[str, NDArray[Scalar]]) -> tuple[TensorSpec, ...]:
    """The specs of the update's tensors, as parameters."""
    return tuple(TensorSpec(name, "float32", tensor.shape) for name, tensor in update.items())


def parameters_of(specs: tuple[TensorSpec, ...]) -> int:
    """The length of the vector."""
    return sum(math.prod(spec.shape) for spec in specs)


@lru_cache(maxsize=8)
def flat_starts(specs: tuple[TensorSpec, ...]) -> Mapping[str, int]:
    """Where each tensor starts in the vector."""
    ordered = sorted(specs, key=lambda spec: spec.name)
    starts = accumulate((math.prod(spec.shape) for spec in ordered), initial=0)
    return {spec.name: start for spec, start in zip(ordered, starts, strict=False)}


@lru_cache(maxsize=8)
def layout_name(what: str, specs: tuple[TensorSpec, ...]) -> str:
    """The name of a tensor that stores `what` for the vector, with a digest of the names and shapes.

    So a tensor stored for one layout is never read as that of another.
    """
    layout = sorted((spec.name, spec.shape) for spec in specs)
    return f"{what}.{hashlib.sha256(msgspec.json.encode(layout)).hexdigest()[:8]}"
