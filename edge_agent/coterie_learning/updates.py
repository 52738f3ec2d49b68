"""An update as bytes: the running statistics, if any, followed by its encoded parts.

The first part is the difference of the parameters, and for most kinds the only one. Each part is a tensor file, whose
header determines where the next begins; last are the scalars, if any, and the number of the random subset of the
parameters, if any. Statistics are sent in full and in float32: they are few, and a variance that is rounded to zero
ruins a model.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from coterie_learning.codec import check_update
from coterie_learning.exact_sum import LARGEST_SCALAR
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.contract import running_statistics
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors, decode_tensors, encode_tensors, encoded_bytes, file_bytes

DRAW = "subset"
DRAW_SPEC = TensorSpec(DRAW, "int64", ())


class UpdateParts(NamedTuple):
    """The parts of an update."""

    statistics: Tensors
    """As the device measured them, not as a difference; variances are not negative."""
    encoded: memoryview
    """The difference of the parameters, for the codec."""
    others: tuple[memoryview, ...] = ()
    """Further parts of the plan's `local`, in the order of its `parts`."""


def join_update(statistics: Tensors, *encoded: bytes) -> bytes:
    """The bytes to upload; `encoded` are the parts in their order."""
    return b"".join((encode_tensors(dict(statistics)) if statistics else b"", *encoded))


def split_update(payload: bytes | memoryview, model: ModelSpec, *, parts: int = 1) -> UpdateParts:
    """Split an uploaded update of `model` with so many `parts`; only the headers are read.

    Raises WireError ``update.malformed`` or ``update.not_finite``.
    """
    statistics, rest = _split_statistics(memoryview(payload), model)
    encoded = []
    for _ in range(parts - 1):
        end = _end_of_file(rest)
        encoded.append(rest[:end])
        rest = rest[end:]
    first, *others = (*encoded, rest)
    return UpdateParts(statistics, first, tuple(others))


def encode_scalars(scalars: Mapping[str, float]) -> bytes:
    """Scalars by name as the last part of an update."""
    return encode_tensors({name: np.asarray(scalar, np.float32) for name, scalar in scalars.items()})


def encode_draw(draw: int) -> bytes:
    """The number of a random subset (`coterie_learning.subsets`), as the last part of an update."""
    return encode_tensors({DRAW: np.asarray(draw, np.int64)})


def decode_draw(payload: bytes | memoryview) -> int:
    """Raises WireError ``update.malformed`` or ``update.out_of_range``."""
    try:
        draw = int(decode_tensors(payload, expected=(DRAW_SPEC,))[DRAW])
    except WireError as error:
        raise WireError("update.malformed", f"subset of the update: {error.detail}") from error
    if draw < 0:
        raise WireError("update.out_of_range", f"the subset of the update is told by {draw}, below 0")
    return draw


def decode_scalars(payload: bytes | memoryview, names: Sequence[str]) -> Mapping[str, float]:
    """The scalars `names`, which are not negative.

    Raises WireError ``update.malformed``, ``update.wrong_shape`` or ``update.out_of_range``.
    """
    try:
        tensors = decode_tensors(payload, expected=tuple(TensorSpec(name, "float32", ()) for name in names))
    except WireError as error:
        raise WireError("update.malformed", f"numbers of the update: {error.detail}") from error
    scalars = {name: float(tensor) for name, tensor in tensors.items()}
    for name, scalar in scalars.items():
        if not 0 <= scalar < LARGEST_SCALAR:  # false for NaN
            detail = f"{name} is {scalar:g}; it goes from 0 to below {LARGEST_SCALAR:g}"
            raise WireError("update.out_of_range", detail)
    return scalars


def _end_of_file(data: memoryview) -> int:
    """The end of the tensor file at the beginning of `data`. Raises WireError ``update.malformed``."""
    try:
        return file_bytes(data)
    except WireError as error:
        raise WireError("update.malformed", error.detail) from error


def _split_statistics(whole: memoryview, model: ModelSpec) -> tuple[Tensors, memoryview]:
    """Their size follows from the model alone."""
    specs = running_statistics(model)
    if not specs:
        return {}, whole
    size_bytes = encoded_bytes(specs)
    try:
        tensors = decode_tensors(whole[:size_bytes], expected=specs)
    except WireError as error:
        raise WireError("update.malformed", f"running statistics: {error.detail}") from error
    statistics = {name: np.asarray(tensor, np.float32) for name, tensor in tensors.items()}
    check_update(statistics)
    for pair in model.statistics:
        if statistics[pair.variance.name].min(initial=0) < 0:
            raise WireError("update.not_finite", f"the variance {pair.variance.name} is negative")
    return statistics, whole[size_bytes:]
