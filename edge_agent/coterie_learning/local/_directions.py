"""The directions in which the devices' models differ most, as stored by the platform and used by devices."""

import numpy as np
from numpy.typing import NDArray

from coterie_learning.flat import flat
from coterie_learning.local import Broadcast
from coterie_learning.random import random_bytes
from coterie_wire.tensors import Tensors

DIRECTIONS = ("direction_0", "direction_1", "direction_2")
"""Names of these in server state and in parts of updates. Three directions can separate four clusters of devices."""
Float64 = NDArray[np.float64]


def directions(broadcast: Broadcast) -> Float64:
    """Orthonormal directions [DIRECTIONS, parameters] in which devices' models differ most, by decreasing variance.

    The directions that the platform sent, orthonormalised in their order (Gram-Schmidt). A direction that is zero, as
    before the first merge or where models differ in fewer directions, is drawn at random, the same on all devices.
    """
    size = sum(tensor.size for tensor in broadcast.received.values())
    found: list[Float64] = []
    for number, name in enumerate(DIRECTIONS):
        sent = broadcast.server.get(name)
        vector = None if sent is None else _apart_from(found, vector_of(sent))
        if vector is None:
            vector = _apart_from(found, _drawn(size, number))
        found.append(np.zeros(size) if vector is None else vector)  # models with fewer parameters have fewer directions
    return np.array(found)


def vector_of(tensors: Tensors) -> Float64:
    """The elements of `tensors` as one vector, in the order of their names."""
    return flat(tensors, np.float32).astype(np.float64)


def _drawn(size: int, number: int) -> Float64:
    """A random vector, symmetric around zero."""
    drawn: Float64 = np.frombuffer(random_bytes(size, number, "direction"), np.uint8) - np.float64(127.5)
    return drawn


def _apart_from(others: list[Float64], vector: Float64) -> Float64 | None:
    """The normalised component of `vector` orthogonal to `others`; None where it is only rounding error."""
    before = float(np.linalg.norm(vector))
    for _ in range(2):  # Twice is enough: the second pass removes the rounding error of the first.
        for other in others:
            vector = vector - other * float(other @ vector)
    after = float(np.linalg.norm(vector))
    return vector / after if after > 1e-6 * before else None
