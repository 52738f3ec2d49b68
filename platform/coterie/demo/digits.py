"""scikit-learn's handwritten digits, dealt to a cloud, to devices that each see few of them, and to a held-out set."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.digits import read_digits

CLASSES = 10
HELD_OUT_SAMPLES = 360
CLOUD_SAMPLES = 40
FAVOURITES = 3
"""Digits that make up most of what one device sees."""
FAVOURITE_SHARE = 0.75
"""Share of a favourite digit's samples that goes to the devices that favour it; the rest is spread over all."""


class Samples(NamedTuple):
    """Images float32 [n, 1, 8, 8] in 0..1 and labels int64 [n]."""

    x: NDArray[np.float32]
    y: NDArray[np.int64]

    def take(self, rows: NDArray[np.intp]) -> "Samples":
        return Samples(self.x[rows], self.y[rows])


class Deal(NamedTuple):
    """Who holds which samples; no sample is in two places."""

    held_out: Samples
    cloud: Samples
    devices: tuple[Samples, ...]


def deal(*, devices: int, seed: int) -> Deal:
    """Deal the 1,797 digits: a held-out set, a small initial cloud data set, and one non-IID part a device."""
    digits = Samples(*read_digits())
    rng = np.random.default_rng(seed)
    everything = digits.take(rng.permutation(len(digits.y)))
    rest = HELD_OUT_SAMPLES + CLOUD_SAMPLES
    owners = _owners(everything.y[rest:], devices=devices, rng=rng)
    indices = np.arange(len(everything.y))
    return Deal(
        held_out=everything.take(indices[:HELD_OUT_SAMPLES]),
        cloud=everything.take(indices[HELD_OUT_SAMPLES:rest]),
        devices=tuple(everything.take(indices[rest:][owners == device]) for device in range(devices)),
    )


def together(parts: Iterable[Samples]) -> Samples:
    """All samples of `parts`, in their order."""
    parts = tuple(parts)
    return Samples(np.concatenate([part.x for part in parts]), np.concatenate([part.y for part in parts]))


def of_digits(samples: Samples, digits: Collection[int]) -> Samples:
    """Those samples that show one of `digits`."""
    return samples.take(np.flatnonzero(np.isin(samples.y, list(digits))))


def draw(samples: Samples, labels: NDArray[np.int64], rng: np.random.Generator) -> Samples:
    """A sample of each of `labels` [n], drawn with replacement."""
    return samples.take(np.array([rng.choice(np.flatnonzero(samples.y == label)) for label in labels]))


def _owners(labels: NDArray[np.int64], *, devices: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """For each label the device that gets the sample."""
    shares = np.full((CLASSES, devices), (1 - FAVOURITE_SHARE) / devices)
    for digit in range(CLASSES):
        admirers = [device for device in range(devices) if (digit - device * FAVOURITES) % CLASSES < FAVOURITES]
        if not admirers:
            admirers = [digit % devices]
        shares[digit, admirers] += FAVOURITE_SHARE / len(admirers)
    cumulative = shares.cumsum(axis=1) / shares.sum(axis=1, keepdims=True)
    owners: NDArray[np.int64] = (rng.random(len(labels))[:, None] > cumulative[labels]).sum(axis=1)
    return owners
