"""An update as bytes: what the codec made of the parameters' difference, after the running statistics if there are any.

Statistics travel whole and in float32: they are few, and a variance that is rounded to zero ruins a model.
"""

from typing import NamedTuple

import numpy as np

from coterie_learning.codec import check_update
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import gathered
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors, decode_tensors, encode_tensors, encoded_bytes


class Parts(NamedTuple):
    """An update, taken apart."""

    statistics: Tensors
    """As the device gathered them, not their difference; variances are not negative."""
    encoded: memoryview
    """For the codec."""


def join_update(statistics: Tensors, encoded: bytes) -> bytes:
    """The bytes that are uploaded."""
    return encode_tensors(dict(statistics)) + encoded if statistics else encoded


def split_update(payload: bytes | memoryview, model: ModelSpec) -> Parts:
    """The parts of an uploaded update of `model`; how long the first is follows from the model alone.

    Raises WireError ``update.malformed`` or ``update.not_finite``.
    """
    specs, whole = gathered(model), memoryview(payload)
    if not specs:
        return Parts({}, whole)
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
    return Parts(statistics, whole[size_bytes:])
