"""Handwritten digits with noise, of some classes a device; a class may be introduced or come and go.

The workloads of Cartel (Daga et al. 2019, doi 10.1145/3357223.3362708), on scikit-learn's 1,797 digits.
"""

from importlib.metadata import PackageNotFoundError
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.digits import read_digits
from coterie.simulation.errors import MissingPackage
from coterie.simulation.learner import Task
from coterie.simulation.streams import Drawn, Shift, Stream
from coterie_wire.bundle import TensorSpec

IMAGE = (1, 8, 8)
CLASSES = 10
INPUT = "x"

Digit = Annotated[int, Meta(ge=0, le=9)]


class DigitProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The classes and changes of devices of one sort."""

    classes: Annotated[tuple[Digit, ...], Meta(min_length=1, description="digits seen throughout, equally often")]
    arrives: Annotated[Digit | None, Meta(description="digit that is introduced, if any")] = None
    label_shift: Annotated[
        Digit, Meta(description="what is added to each digit's label, modulo 10: to mean something else by the same")
    ] = 0


class Digits(Stream, frozen=True, tag="digits"):
    """Device i sees what profile i modulo their number says."""

    profiles: Annotated[tuple[DigitProfile, ...], Meta(min_length=1, description="sorts of devices")]
    batches: Annotated[int, Meta(ge=1, le=100_000, description="batches a device")] = 120
    batch_size: Annotated[int, Meta(ge=1, le=10_000, description="samples in a batch")] = 50
    batch_s: Annotated[float, Meta(gt=0, le=1e9, description="seconds from one batch to the next")] = 600.0
    noise: Annotated[float, Meta(ge=0, le=10, description="standard deviation of what is added to a pixel in 0..1")] = (
        0.1
    )
    arrives_at: Annotated[int, Meta(ge=1, description="batch at which the new digit arrives, from 0")] = 50
    arrival_weight: Annotated[
        float, Meta(gt=0, le=100, description="how often the new digit is seen, for each time that another is")
    ] = 1.5
    alternates_every: Annotated[
        int, Meta(ge=0, description="batches after which the new digit goes, comes, goes …; 0: it stays")
    ] = 0
    cloud_samples: Annotated[int, Meta(ge=1, le=1797, description="samples of the initial cloud data set")] = 40

    def draw(self, *, devices: int, seed: int) -> Drawn:
        try:
            images, labels = read_digits()
        except PackageNotFoundError as error:
            raise MissingPackage(
                package="scikit-learn", purpose="the handwritten digits", extra="simulation"
            ) from error
        rng = np.random.default_rng([seed, 0])
        cloud = rng.permutation(len(labels))[: self.cloud_samples]
        return Drawn(
            task=Task((TensorSpec(INPUT, "float32", IMAGE),), CLASSES),
            tick_s=self.batch_s,
            cloud=Dataset({INPUT: images[cloud]}, labels[cloud]),
            batches=tuple(self._batches(images, labels, device, seed) for device in range(devices)),
            shifts=tuple(
                Shift(device, tick) for device in range(devices) for tick in self._shifts(self._profile(device))
            ),
        )

    def _profile(self, device: int) -> DigitProfile:
        return self.profiles[device % len(self.profiles)]

    def _shifts(self, profile: DigitProfile) -> range:
        """Ticks at which the new digit comes."""
        if profile.arrives is None:
            return range(0)
        return range(self.arrives_at, self.batches, 2 * self.alternates_every or self.batches)

    def _present(self, tick: int) -> bool:
        since = tick - self.arrives_at
        return since >= 0 and (not self.alternates_every or since // self.alternates_every % 2 == 0)

    def _batches(
        self, images: NDArray[np.float32], labels: NDArray[np.int64], device: int, seed: int
    ) -> tuple[Dataset, ...]:
        rng = np.random.default_rng([seed, 1, device])
        profile = self._profile(device)
        rows_of = [np.flatnonzero(labels == digit) for digit in range(CLASSES)]
        batches = []
        for tick in range(self.batches):
            weights = np.zeros(CLASSES)
            weights[list(profile.classes)] = 1
            if profile.arrives is not None and self._present(tick):
                weights[profile.arrives] = self.arrival_weight
            drawn = rng.choice(CLASSES, size=self.batch_size, p=weights / weights.sum())
            places = rng.random(self.batch_size)
            rows = np.array(
                [rows_of[digit][int(place * len(rows_of[digit]))] for digit, place in zip(drawn, places, strict=True)]
            )
            noise = rng.normal(0, self.noise, (len(rows), *IMAGE)).astype(np.float32)
            meant = (labels[rows] + profile.label_shift) % CLASSES
            batches.append(Dataset({INPUT: images[rows] + noise}, meant))
        return tuple(batches)
