"""What a recipe is: a task ready to run, its people, its models and how its predictions are judged. No PyTorch here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]
Read = Mapping[str, "Person"]
"""By name."""
TEST_SHARE = 0.25
"""Share of a person's samples, the newest, that nobody trains on."""


class UnreadableData(Exception):
    """Data of a user's own are not in the recipe's format; the message says what was expected, and where."""


class Samples(NamedTuple):
    """Samples as the recipe's models take them, the oldest first."""

    x: Float32 | Int64
    """[n, *input]"""
    y: Float32 | Int64
    """Classes int64 [n], or float32 [n, *target] where the target is not a class."""

    def take(self, rows: slice | Int64) -> "Samples":
        """The samples at `rows`."""
        return Samples(self.x[rows], self.y[rows])


class Person(NamedTuple):
    """One device's samples, divided by time: a random division would put neighbours on both sides."""

    train: Samples
    test: Samples
    """Later than all of `train`."""
    truth: Int64
    """What predictions for `test` are judged by, [n]: its classes, or what only a test knows."""
    unlabelled: Samples | None = None
    """Older than the test, too: what the recipe's pre-training takes, with or without a label. None: it has none."""

    @property
    def pretrained_on(self) -> Samples:
        """`unlabelled`, of a recipe that pre-trains."""
        assert self.unlabelled is not None, "there is something to pre-train on"
        return self.unlabelled

    @property
    def trained_on(self) -> int:
        """Samples that the person trains on, with or without a label."""
        return len(self.train.y) if self.unlabelled is None else len(self.unlabelled.y)


def divided(samples: Samples, *, gap: int = 0, truth: Int64 | None = None) -> Person:
    """The newest quarter of `samples` is the test; `gap` samples before it are left out, because they overlap with it.

    `truth` [n] is what all of them are judged by; None: their classes.
    """
    begins = len(samples.y) - int(len(samples.y) * TEST_SHARE)
    judged = samples.y if truth is None else truth
    return Person(
        train=samples.take(slice(0, max(0, begins - gap))),
        test=samples.take(slice(begins, None)),
        truth=judged[begins:].astype(np.int64),
    )


@dataclass(frozen=True, kw_only=True)
class Original:
    """What a recipe's backbone was trained for, to measure how much of it a version has forgotten."""

    title: str
    draw: Callable[[int, int], Person]
    """Of a seed and a number, a made-up person of that task."""
    score: Callable[[Float32, Person], float]
    head: Callable[[], Mapping[str, Float32]]
    """The parameters of that task's output layer, which fit in the place of the recipe's own."""


@dataclass(frozen=True, kw_only=True)
class Pretraining:
    """A federation of the same people before the recipe's own, of the same models, on samples that need no label.

    Its plan is `pretraining.toml`; the recipe's own begins with its last version.
    """

    rounds: int
    draw: Callable[[int, int], Person]
    """Of a seed and a number, the same made-up person, all of whose labels are known: there it is to gain little."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A task; its files, `plan.toml` and `expected.toml`, lie beside the module that defines it."""

    name: str
    title: str
    directory: Path
    classes: tuple[str, ...]
    """Names of the classes, in the order of their numbers; none where samples have no class."""
    batch_size: int
    people: int
    """How many take part, where nobody says otherwise."""
    draw: Callable[[int, int], Person]
    """Of a seed and a number, a made-up person, the same whatever others are drawn."""
    read: Callable[[Path], Read]
    """Data of a user's own, in the format that the how-to page names. Raises UnreadableData."""
    baseline: Callable[[Person], float]
    """The score on a person's test of a rule that learns next to nothing."""
    score: Callable[[Float32, Person], float]
    """Of a model's outputs for a person's test, [n, *output]; higher is better."""
    metric: str
    """What `score` is, in words."""
    training: Mapping[str, object] = field(default_factory=dict)
    """The training recipe that the device model is compiled with: loss, optimiser; empty: that of a classifier."""
    input: str = "x"
    """What the models call what they take; ``acceleration``, ``picture`` and ``words`` a phone has of its own."""
    cloud_people: int = 4
    """People beside the devices whose samples the platform has from the beginning."""
    original: Original | None = None
    """What the backbone was trained for that the device model begins with; None: it begins with none."""
    pretraining: Pretraining | None = None
    """None: all that a device has is labelled."""

    @property
    def is_simulated(self) -> bool:
        """Whether `coterie simulate` takes its device model: a classifier, all of which is trained by plain descent."""
        return bool(self.classes) and not self.training

    @property
    def models(self) -> str:
        """The module with `DeviceModel`, `CloudModel` and `example`, a batch of inputs; it imports PyTorch."""
        return f"coterie_recipes.{self.name}.models"


def accuracy(outputs: Float32, person: Person) -> float:
    """Share of the test whose class has the largest output [n, classes]."""
    return float((outputs.argmax(axis=1) == person.truth).mean())


def top(outputs: Float32, person: Person, *, of: int) -> float:
    """Share of the test whose class is among the `of` largest outputs [n, classes]."""
    best = np.argpartition(-outputs, of, axis=1)[:, :of]
    return float((best == person.truth[:, None]).any(axis=1).mean())


def area_under_curve(suspicion: NDArray[np.floating], truth: Int64) -> float:
    """Chance that a sample whose truth is 1 is more suspicious than one whose truth is 0; 0.5 where either is missing.

    The statistic of Mann and Whitney, by mean ranks.
    """
    ill = truth == 1
    if ill.all() or not ill.any():
        return 0.5
    _, places, counts = np.unique(suspicion, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    pairs = ill.sum() * (~ill).sum()
    return float((ranks[ill].sum() - ill.sum() * (ill.sum() + 1) / 2) / pairs)


def most_frequent(person: Person) -> float:
    """The accuracy of always naming the class that the person's own training samples have most."""
    return float((person.truth == np.bincount(person.train.y.astype(np.int64)).argmax()).mean())
