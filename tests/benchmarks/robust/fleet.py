"""A fleet that learns digits: devices with a network of one hidden layer, trained side by side in NumPy."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_wire.tensors import Float32, Tensors

Labels = NDArray[np.int64]
CLASSES = 10
CORNER = (0, 1, 8, 9)
"""Pixels of the trigger, of 8 x 8."""
BRIGHT = 1.0


class Samples(NamedTuple):
    """Images [samples, 64] between 0 and 1, and their digits."""

    images: Float32
    labels: Labels


class World(NamedTuple):
    """Who has which samples."""

    devices: Sequence[Samples]
    root: Samples
    """The platform's."""
    test: Samples


def make_world(*, devices: int, concentration: float, root_samples: int, test_share: float, seed: int) -> World:
    """Devices of like size whose shares of classes are drawn from a Dirichlet distribution."""
    from sklearn.datasets import load_digits  # not in the child that merges, whose memory is measured

    rng = np.random.default_rng([seed, 0])
    digits = load_digits()
    order = rng.permutation(len(digits.target))
    whole = Samples((digits.data[order] / 16).astype(np.float32), digits.target[order].astype(np.int64))
    tested = round(test_share * len(order))
    held = taken(whole, np.arange(tested, len(order)))
    root, rest = taken(held, np.arange(root_samples)), taken(held, np.arange(root_samples, len(held.labels)))
    shares = rng.dirichlet(np.full(CLASSES, concentration), devices)
    size = len(rest.labels) // devices
    fleet = []
    for share in shares:
        labels = rng.choice(CLASSES, size, p=share)
        fleet.append(taken(rest, np.array([rng.choice(np.flatnonzero(rest.labels == label)) for label in labels])))
    return World(fleet, root, taken(whole, np.arange(tested)))


def taken(samples: Samples, rows: NDArray[np.int64]) -> Samples:
    """Some of them."""
    return Samples(samples.images[rows], samples.labels[rows])


def triggered(samples: Samples) -> Samples:
    """With the trigger in a corner, as if they showed a zero."""
    images = samples.images.copy()
    images[:, CORNER] = BRIGHT
    return Samples(images, np.zeros_like(samples.labels))


def first_model(hidden: int, seed: int) -> Tensors:
    """Parameters to begin with."""
    rng = np.random.default_rng([seed, 1])
    pixels = 64
    return {
        "body.weight": rng.normal(0, (2 / pixels) ** 0.5, (hidden, pixels)).astype(np.float32),
        "body.bias": np.zeros(hidden, np.float32),
        "head.weight": rng.normal(0, (1 / hidden) ** 0.5, (CLASSES, hidden)).astype(np.float32),
        "head.bias": np.zeros(CLASSES, np.float32),
    }


def logits(model: Tensors, images: Float32) -> Float32:
    """[samples, classes]."""
    body = np.maximum(images @ model["body.weight"].T + model["body.bias"], 0)
    found: Float32 = body @ model["head.weight"].T + model["head.bias"]
    return found


def accuracy(model: Tensors, samples: Samples) -> float:
    """The share of `samples` that it gets right."""
    return float((logits(model, samples.images).argmax(axis=1) == samples.labels).mean())


def updates_of(
    model: Tensors, data: Sequence[Samples], *, steps: int, batch_size: int, learning_rate: float, seed: Sequence[int]
) -> Sequence[Tensors]:
    """What each of several devices has learned from its samples, all in the same number of steps."""
    batches = [_batches(samples, steps, batch_size, [*seed, place]) for place, samples in enumerate(data)]
    own = {name: np.repeat(tensor[None], len(data), axis=0) for name, tensor in model.items()}
    for step in range(steps):
        images = np.stack([batch[step].images for batch in batches])
        labels = np.stack([batch[step].labels for batch in batches])
        for name, gradient in _gradients(own, images, labels).items():
            own[name] -= np.float32(learning_rate) * gradient
    return [{name: own[name][place] - model[name] for name in model} for place in range(len(data))]


def _batches(samples: Samples, steps: int, batch_size: int, seed: Sequence[int]) -> Sequence[Samples]:
    """Epochs in a drawn order, cut into batches."""
    rng = np.random.default_rng(list(seed))
    count = len(samples.labels)
    rows = np.concatenate([rng.permutation(count) for _ in range(-(-steps * batch_size // count))])
    return [taken(samples, rows[step * batch_size : (step + 1) * batch_size]) for step in range(steps)]


def _gradients(own: Mapping[str, Float32], images: Float32, labels: Labels) -> Tensors:
    """Of the mean cross-entropy, each device by itself: [devices, ...]."""
    before = np.matmul(images, own["body.weight"].transpose(0, 2, 1)) + own["body.bias"][:, None]
    body = np.maximum(before, 0)
    scores = np.matmul(body, own["head.weight"].transpose(0, 2, 1)) + own["head.bias"][:, None]
    errors = np.exp(scores - scores.max(axis=2, keepdims=True))
    errors /= errors.sum(axis=2, keepdims=True)
    devices, batch = labels.shape
    errors[np.arange(devices)[:, None], np.arange(batch), labels] -= 1
    errors /= batch
    backward = np.matmul(errors, own["head.weight"]) * (before > 0)
    return {
        "body.weight": np.matmul(backward.transpose(0, 2, 1), images),
        "body.bias": backward.sum(axis=1),
        "head.weight": np.matmul(errors.transpose(0, 2, 1), body),
        "head.bias": errors.sum(axis=1),
    }
