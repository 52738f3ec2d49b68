"""How a device stores a teacher's probabilities, and the targets that it trains on."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from coterie_learning.heads import renormalise
from coterie_wire.tensors import Float32

Stored: TypeAlias = NDArray[np.float16]
"""[samples, classes]; float16 takes half the space and is more exact than an eight-bit teacher."""


def stored_probabilities(probabilities: Float32) -> Stored:
    """`probabilities` [samples, classes] as a device stores them until it receives another teacher."""
    return probabilities.astype(np.float16)


def teacher_targets(stored: Stored, classes: Sequence[int]) -> Float32:
    """The targets [samples, all classes]: renormalised over `classes`, where any are named."""
    probabilities: Float32 = stored.astype(np.float32)
    return renormalise(probabilities, classes) if classes else probabilities
