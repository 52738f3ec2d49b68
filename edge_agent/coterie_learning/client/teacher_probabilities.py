"""What a device keeps of a teacher's probabilities, and what it learns from them."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from coterie_learning.heads import renormalise
from coterie_wire.tensors import Float32

Stored: TypeAlias = NDArray[np.float16]
"""[samples, classes]; half the space, and more exact than a teacher of eight bits."""


def stored_probabilities(probabilities: Float32) -> Stored:
    """`probabilities` [samples, classes] as a device keeps them until another teacher comes."""
    return probabilities.astype(np.float16)


def taught(stored: Stored, classes: Sequence[int]) -> Float32:
    """What is learned from them [samples, all classes]: as if there were only `classes`, where any are named."""
    probabilities: Float32 = stored.astype(np.float32)
    return renormalise(probabilities, classes) if classes else probabilities
