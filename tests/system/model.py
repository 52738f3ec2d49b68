"""The model of the system tests: softmax regression on images of 32 by 32 pixels, with its samples and updates."""

import numpy as np
from numpy.typing import NDArray

from coterie_learning.codec import Codec
from coterie_learning.codec.int8 import Int8
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import Tensors
from tests.coterie_agent.bundles import spec_of

SIDE, CLASSES = 32, 10
LABELS = tuple(f"class {number}" for number in range(CLASSES))


def spec_with(side: int) -> ModelSpec:
    """The model on images of `side` by `side` pixels."""
    return spec_of(side=side, classes=CLASSES, batch=8)


SPEC = spec_with(SIDE)


def tensors(seed: int, *, scale: float = 0.01, spec: ModelSpec = SPEC) -> Tensors:
    """Random numbers in the shape of the model's parameters."""
    rng = np.random.default_rng(seed)
    return {each.name: (scale * rng.standard_normal(each.shape)).astype(np.float32) for each in spec.parameters}


def payload(seed: int, codec: Codec | None = None, *, spec: ModelSpec = SPEC) -> bytes:
    """An update as it travels; the same seed gives the same bytes."""
    return (codec or Int8()).encode(tensors(seed, spec=spec), seed=seed).payload


def samples(count: int, seed: int, *, side: int = SIDE) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Images [count, side, side] and their labels: each class lights rows of its own, in noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    images = rng.normal(scale=1.0, size=(count, side, side))
    for image, label in zip(images, labels, strict=True):
        image[3 * label : 3 * label + 3] += 0.3
    return images.astype(np.float32), labels
