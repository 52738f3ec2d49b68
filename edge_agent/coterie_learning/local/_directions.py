"""The directions in which the models of devices differ most, as the platform keeps them and devices use them."""

import numpy as np
from numpy.typing import NDArray

from coterie_learning.flat import flat
from coterie_learning.local import Broadcast
from coterie_learning.random import random_bytes
from coterie_wire.tensors import Tensors

DIRECTIONS = ("direction_0", "direction_1", "direction_2")
"""Server state and parts of updates. With three, four sorts of devices are told apart."""
Float64 = NDArray[np.float64]


def directions(broadcast: Broadcast) -> Float64:
    """Orthonormal directions [DIRECTIONS, parameters] in which devices' models differ most, the first the most.

    Those that the platform sent, made orthonormal by Gram and Schmidt in their order. One that is nothing, as before
    the first merge or where models differ in fewer ways, is drawn: the same on all devices.
    """
    size = sum(tensor.size for tensor in broadcast.received.values())
    found: list[Float64] = []
    for number, name in enumerate(DIRECTIONS):
        sent = broadcast.server.get(name)
        vector = None if sent is None else _apart_from(found, vector_of(sent))
        if vector is None:
            vector = _apart_from(found, _drawn(size, number))
        found.append(np.zeros(size) if vector is None else vector)  # models of fewer numbers have fewer directions
    return np.array(found)


def vector_of(tensors: Tensors) -> Float64:
    """The numbers of `tensors`, in the order of their names."""
    return flat(tensors, np.float32).astype(np.float64)


def _drawn(size: int, number: int) -> Float64:
    """Numbers that are as often positive as negative."""
    drawn: Float64 = np.frombuffer(random_bytes(size, number, "direction"), np.uint8) - np.float64(127.5)
    return drawn


def _apart_from(others: list[Float64], vector: Float64) -> Float64 | None:
    """The unit vector of what of `vector` is orthogonal to `others`; None where that is nothing but rounding."""
    before = float(np.linalg.norm(vector))
    for _ in range(2):  # twice is enough: what rounding leaves of the first time
        for other in others:
            vector = vector - other * float(other @ vector)
    after = float(np.linalg.norm(vector))
    return vector / after if after > 1e-6 * before else None
