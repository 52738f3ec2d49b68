"""The fleets of the benchmark: the data of each device, drawn from a seed."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.digits import read_digits
from tests.benchmarks.family.models import INPUT

Rng = np.random.Generator
DIGITS = 10


class Fleet(NamedTuple):
    """What devices learn from, and what they are judged with."""

    train: Sequence[Dataset]
    test: Sequence[Dataset]
    """Of each device, or one for all."""


def label_skew(seed: int, *, devices: int, concentration: float, alike: bool = False) -> Fleet:
    """Handwritten digits, of each class shares from Dirichlet(`concentration`) (Hsu, Qi, Brown 2019, arXiv 1909.06335).

    Every device has at least ten; a fifth of all is for judging. Where devices are `alike` they get equal shares.
    """
    images, labels = _digits()
    rng = np.random.default_rng([seed, 1])
    order = rng.permutation(len(labels))
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    if alike:
        parts = [np.sort(part) for part in np.array_split(train, devices)]
    else:
        parts = _dealt(labels, train, devices, concentration, rng)
    return Fleet([_taken(images, labels, part) for part in parts], [_taken(images, labels, test)])


def _dealt(
    labels: NDArray[np.int64], rows: NDArray[np.int64], devices: int, concentration: float, rng: Rng
) -> list[NDArray[np.int64]]:
    while True:
        parts: list[list[int]] = [[] for _ in range(devices)]
        for digit in range(DIGITS):
            own = rng.permutation(rows[labels[rows] == digit])
            ends = np.cumsum(rng.dirichlet(np.full(devices, concentration))) * len(own)
            for device, part in enumerate(np.split(own, ends[:-1].astype(int))):
                parts[device] += part.tolist()
        if min(map(len, parts)) >= 10:
            return [np.array(sorted(part)) for part in parts]


def half_new_classes(seed: int, *, devices: int, unseen: int, images_each: int) -> tuple[Fleet, Fleet]:
    """The split of Per-FedAvg (Fallah et al. 2020, arXiv 2002.07948, section 5), and devices that take no part.

    Half of the devices have as many images of each of the first five digits; the others half as many of one of these,
    and twice as many of one of the last five. Each is judged on as many of its own kind.
    """
    images, labels = _digits()
    rng = np.random.default_rng([seed, 2])
    order = rng.permutation(len(labels))
    halves = [order[: len(order) // 2], order[len(order) // 2 :]]
    fleets = ([], []), ([], [])
    for device in range(devices + unseen):
        if device % 2 == 0:
            counts = dict.fromkeys(range(5), images_each)
        else:
            counts = {int(rng.integers(5)): images_each // 2, 5 + int(rng.integers(5)): 2 * images_each}
        for kind, half in enumerate(halves):
            rows = [rng.choice(half[labels[half] == digit], count, replace=False) for digit, count in counts.items()]
            fleets[device >= devices][kind].append(_taken(images, labels, np.concatenate(rows)))
    return Fleet(*fleets[0]), Fleet(*fleets[1])


def synthetic(seed: int, *, devices: int, alpha: float, beta: float, most: int) -> Fleet:
    """synthetic(α, β) of FedProx (Li et al. 2020, arXiv 1812.06127, appendix C.1), at most so many samples a device."""
    rng = np.random.default_rng([seed, 3])
    train, test = [], []
    sizes = rng.lognormal(4, 2, devices).astype(int) + 50
    for size in np.minimum(sizes, most):
        centre, shift = rng.normal(0, alpha), rng.normal(0, beta)
        weight, bias = rng.normal(centre, 1, (60, 10)), rng.normal(centre, 1, 10)
        x = rng.normal(shift, 1, 60) + rng.normal(size=(size, 60)) * np.arange(1, 61) ** -0.6
        y = (x @ weight + bias).argmax(axis=1)
        whole = Dataset({INPUT: x.astype(np.float32)}, y.astype(np.int64))
        train.append(whole.take(slice(0, size * 9 // 10)))
        test.append(whole.take(slice(size * 9 // 10, size)))
    return Fleet(train, test)


def minority(seed: int, *, devices: int, few: int, turned: float, label_noise: float) -> Fleet:
    """Two classes on either side of a plane; for a `few` devices, which have half the samples, it is turned.

    A label is that of the distance from the plane plus noise of so many of its standard deviations.
    """
    rng = np.random.default_rng([seed, 4])
    features = 40
    plane, other = np.linalg.qr(rng.normal(size=(features, 2)))[0].T
    train, test = [], []
    for device in range(devices):
        angle = turned if device < few else 0.0
        normal = np.cos(angle) * plane + np.sin(angle) * other
        for found, size in ((train, 100 if device < few else 200), (test, 200)):
            x = rng.normal(size=(size, features))
            y = (x @ normal + rng.normal(0, label_noise, size) > 0).astype(np.int64)
            found.append(Dataset({INPUT: x.astype(np.float32)}, y))
    return Fleet(train, test)


def related(seed: int, *, devices: int, sorts: int, apart: float) -> Fleet:
    """Two classes on either side of a plane of the device's own, which lies near that of its sort; 20 to 80 samples.

    Labels are those of the plane and noise 0.3 times as large as what it tells (as in an earlier prototype of MOCHA).
    """
    rng = np.random.default_rng([seed, 5])
    features = 30
    centres = rng.normal(size=(sorts, features))
    train, test = [], []
    for device in range(devices):
        normal = centres[device % sorts] + apart * rng.normal(size=features)
        for found, size in ((train, int(rng.integers(20, 81))), (test, 300)):
            x = rng.normal(size=(size, features))
            y = (x @ normal + 0.3 * np.linalg.norm(normal) * rng.normal(size=size) > 0).astype(np.int64)
            found.append(Dataset({INPUT: x.astype(np.float32)}, y))
    return Fleet(train, test)


def _digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    images, labels = read_digits()
    return images.reshape(len(labels), -1), labels


def _taken(images: NDArray[np.float32], labels: NDArray[np.int64], rows: NDArray[np.int64]) -> Dataset:
    return Dataset({INPUT: images[rows]}, labels[rows])
