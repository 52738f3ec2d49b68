"""The model of the system tests: softmax regression on images of 32 by 32 pixels, with its samples and updates."""

import numpy as np
from numpy.typing import NDArray

from coterie_learning.codec import Codec
from coterie_learning.codec.int8 import Int8
from coterie_wire.tensors import Tensors
from tests.coterie_agent.bundles import spec_of

SIDE, CLASSES = 32, 10
SPEC = spec_of(side=SIDE, classes=CLASSES, batch=8)
LABELS = tuple(f"class {number}" for number in range(CLASSES))


def tensors(seed: int, *, scale: float = 0.01) -> Tensors:
    """Random numbers in the shape of the model's parameters."""
    rng = np.random.default_rng(seed)
    return {spec.name: (scale * rng.standard_normal(spec.shape)).astype(np.float32) for spec in SPEC.parameters}


def payload(seed: int, codec: Codec | None = None) -> bytes:
    """An update as it travels; the same seed gives the same bytes."""
    return (codec or Int8()).encode(tensors(seed), seed=seed).payload


def samples(count: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Images [count, 32, 32] and their labels: each class lights rows of its own, in noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    images = rng.normal(scale=1.0, size=(count, SIDE, SIDE))
    for image, label in zip(images, labels, strict=True):
        image[3 * label : 3 * label + 3] += 0.3
    return images.astype(np.float32), labels
