"""Synthetic human activities as measured by a phone: windows of acceleration and rotation, a few activities a person.

A synthetic substitute for recordings such as UCI HAR (Anguita et al. 2013, ESANN). Gravity shows the posture; steps (or
pedalling) have a person's own frequency, with the first two harmonics on each axis and a personal amplitude; each
person carries the device at a personal angle. Activities come in bouts.
"""

from typing import Annotated, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie.evaluation.datasets import Dataset
from coterie.simulation.learner import Task
from coterie.simulation.streams import Drawn, Shift, Stream
from coterie_learning.profile import Float64
from coterie_wire.bundle import TensorSpec

INPUT = "x"
HERTZ = 25
STEPS = 50
CHANNELS = 6
"""Acceleration along three axes in g, then rotation about them in radians a second."""

Activity = Literal["lying", "sitting", "standing", "walking", "upstairs", "downstairs", "running", "cycling"]


class _Motion(NamedTuple):
    """One activity as measured in an upright pocket."""

    name: Activity
    gravity: tuple[float, float, float]
    """The upward direction; its length does not matter."""
    tempo: float
    """Repetitions for each step of the person's walk; 0: it does not repeat."""
    acceleration: tuple[float, float, float]
    """Amplitude of the first harmonic along each axis, in g."""
    second: float
    """Amplitude of the second harmonic for each unit of the first: impacts are sharp."""
    rotation: tuple[float, float, float]
    """Amplitude about each axis, in radians a second."""


MOTIONS = (
    _Motion("lying", (0.1, 1.0, 0.1), 0.0, (0.0, 0.0, 0.0), 0.0, (0.0, 0.0, 0.0)),
    _Motion("sitting", (0.9, 0.1, 0.4), 0.0, (0.0, 0.0, 0.0), 0.0, (0.0, 0.0, 0.0)),
    _Motion("standing", (0.1, 0.1, 1.0), 0.0, (0.0, 0.0, 0.0), 0.0, (0.0, 0.0, 0.0)),
    _Motion("walking", (0.1, 0.1, 1.0), 1.0, (0.20, 0.12, 0.30), 0.4, (0.9, 0.5, 0.6)),
    _Motion("upstairs", (0.4, 0.1, 0.9), 0.8, (0.25, 0.15, 0.25), 0.3, (1.6, 0.5, 0.6)),
    _Motion("downstairs", (-0.1, 0.1, 1.0), 1.1, (0.20, 0.18, 0.45), 0.9, (1.2, 0.8, 0.6)),
    _Motion("running", (0.3, 0.1, 1.0), 1.45, (0.60, 0.35, 1.10), 0.5, (2.5, 1.2, 1.2)),
    _Motion("cycling", (0.7, 0.1, 0.7), 0.75, (0.12, 0.10, 0.12), 0.2, (2.2, 0.2, 0.3)),
)
ACTIVITIES: tuple[Activity, ...] = tuple(motion.name for motion in MOTIONS)
SWAY_G, SWAY_RAD_S = 0.01, 0.03
"""Sway of a body at rest, in addition to the sensors' noise."""


class Person(NamedTuple):
    """The constant properties of one person."""

    steps_hz: float
    """Of the walk."""
    vigour: float
    """Factor of all amplitudes."""
    turned: Float64
    """[3, 3]: how the device lies in the pocket."""
    shares: Float64
    """[activities, CHANNELS]: factors of the amplitudes, the person's own way of doing each."""
    phases: Float64
    """[activities, CHANNELS, 2]: of the harmonics, in radians; most of it is the same for all people."""


class ActivityProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The activities of one type of people."""

    does: Annotated[tuple[Activity, ...], Meta(min_length=1, description="activities done throughout, equally often")]
    begins: Annotated[Activity | None, Meta(description="activity that is taken up, if any")] = None


class Activities(Stream, frozen=True, tag="activities"):
    """A sample is a window of two seconds; its label is the activity. Device i does what profile i modulo them says."""

    profiles: Annotated[tuple[ActivityProfile, ...], Meta(min_length=1, description="sorts of people")]
    batches: Annotated[int, Meta(ge=1, le=100_000, description="batches a device")] = 60
    batch_size: Annotated[int, Meta(ge=1, le=10_000, description="windows in a batch")] = 32
    batch_s: Annotated[float, Meta(gt=0, le=1e9, description="seconds from one batch to the next")] = 600.0
    bout: Annotated[int, Meta(ge=1, le=1000, description="windows that one activity lasts, on average")] = 4
    begins_at: Annotated[int, Meta(ge=1, description="batch at which the new activity is taken up, from 0")] = 30
    weight: Annotated[
        float, Meta(gt=0, le=100, description="how often the new activity is done, for each time that another is")
    ] = 1.5
    turned_degrees: Annotated[
        float, Meta(ge=0, le=180, description="standard deviation of the angle by which a device is turned")
    ] = 20.0
    unlike: Annotated[
        float, Meta(ge=0, le=2, description="standard deviation of the logarithm of people's vigour and ways")
    ] = 0.2
    noise: Annotated[
        float, Meta(ge=0, le=10, description="standard deviation of the noise, in g and in radians a second")
    ] = 0.1
    cloud_samples: Annotated[int, Meta(ge=1, le=100_000, description="windows of the initial cloud data set")] = 200

    def draw(self, *, devices: int, seed: int) -> Drawn:
        everybody = tuple(range(len(MOTIONS)))
        rng = np.random.default_rng([seed, 0])
        labels = rng.choice(everybody, size=self.cloud_samples)
        return Drawn(
            task=Task((TensorSpec(INPUT, "float32", (CHANNELS, STEPS)),), len(MOTIONS)),
            tick_s=self.batch_s,
            cloud=self._windows(self._person(rng, _ways(seed)), labels, rng),
            batches=tuple(self._batches(device, seed) for device in range(devices)),
            shifts=tuple(
                Shift(device, self.begins_at)
                for device in range(devices)
                if self._profile(device).begins is not None and self.begins_at < self.batches
            ),
        )

    def _profile(self, device: int) -> ActivityProfile:
        return self.profiles[device % len(self.profiles)]

    def _person(self, rng: np.random.Generator, ways: Float64) -> Person:
        angle = np.radians(rng.normal(0, self.turned_degrees))
        return Person(
            steps_hz=float(rng.normal(1.9, 0.12)),
            vigour=float(np.exp(rng.normal(0, self.unlike))),
            turned=_rotation(rng.normal(size=3), float(angle)),
            shares=np.exp(rng.normal(0, self.unlike, (len(MOTIONS), CHANNELS))),
            phases=ways + rng.normal(0, self.unlike, ways.shape),
        )

    def _batches(self, device: int, seed: int) -> tuple[Dataset, ...]:
        rng = np.random.default_rng([seed, 1, device])
        person, profile = self._person(rng, _ways(seed)), self._profile(device)
        present = int(rng.choice([ACTIVITIES.index(name) for name in profile.does]))
        batches = []
        for tick in range(self.batches):
            weights = np.zeros(len(MOTIONS))
            weights[[ACTIVITIES.index(name) for name in profile.does]] = 1
            if profile.begins is not None and tick >= self.begins_at:
                weights[ACTIVITIES.index(profile.begins)] = self.weight
            labels = np.empty(self.batch_size, np.int64)
            for row in range(self.batch_size):
                if rng.random() < 1 / self.bout:
                    present = int(rng.choice(len(MOTIONS), p=weights / weights.sum()))
                labels[row] = present
            batches.append(self._windows(person, labels, rng))
        return tuple(batches)

    def _windows(self, person: Person, labels: NDArray[np.int64], rng: np.random.Generator) -> Dataset:
        x = np.stack([_window(person, int(label), rng) for label in labels])
        x += rng.normal(0, self.noise, x.shape)
        return Dataset({INPUT: x.astype(np.float32)}, labels.astype(np.int64))


def _ways(seed: int) -> Float64:
    """How people move: the phases [activities, CHANNELS, 2] of the harmonics, which most people share."""
    return np.random.default_rng([seed, 2]).uniform(0, 2 * np.pi, (len(MOTIONS), CHANNELS, 2))


def _window(person: Person, activity: int, rng: np.random.Generator) -> Float64:
    """[CHANNELS, STEPS], without the sensors' noise."""
    motion, time_s = MOTIONS[activity], np.arange(STEPS) / HERTZ
    hertz = person.steps_hz * motion.tempo * (1 + rng.normal(0, 0.03))
    turns = 2 * np.pi * (hertz * time_s + rng.random())
    amplitude = np.array([*motion.acceleration, *motion.rotation]) * person.shares[activity] * person.vigour
    amplitude *= np.exp(rng.normal(0, 0.1))
    phases = person.phases[activity]
    first, second = (np.sin(order * turns + phases[:, order - 1, None]) for order in (1, 2))
    moving = amplitude[:, None] * (first + motion.second * second)
    sway = np.repeat([SWAY_G, SWAY_RAD_S], 3)[:, None] * rng.normal(size=(CHANNELS, 1))
    upright = np.array(motion.gravity) / np.linalg.norm(motion.gravity) + rng.normal(0, 0.05, 3)
    felt = moving + sway
    felt[:3] += upright[:, None]
    return np.concatenate([person.turned @ felt[:3], person.turned @ felt[3:]])


def _rotation(axis: Float64, angle: float) -> Float64:
    """About `axis`, by `angle` radians (Rodrigues' formula)."""
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    rotation: Float64 = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return rotation
