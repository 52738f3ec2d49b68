"""What the cloud does with what devices have learned: it makes the versions that they download."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from coterie.cloud.averaging import merge_blocks
from coterie.evaluation.datasets import Dataset
from coterie.simulation.device import Device
from coterie.simulation.learners.neural import NeuralLearner
from coterie_learning.merge import Averaging, Contribution
from coterie_wire.tensors import Float32, Tensors

BLOCK = 64


class Teacher(Protocol):
    """The cloud model as devices get it."""

    @property
    def size_bytes(self) -> int:
        """What a device downloads of it."""

    def probabilities(self, data: Dataset) -> Float32:
        """[n, classes]."""


class Version(NamedTuple):
    """A device model as devices download it; two versions are the same only if they are one object."""

    learner: NeuralLearner
    teacher: Teacher | None = None


class Delivery(NamedTuple):
    """One device's update as it arrived."""

    device: Device
    base: Version
    payload: bytes
    update: Tensors
    """Decoded, with zeros wherever nothing was trained."""
    samples: int
    seen: tuple[int, ...]
    """Classes that the device has had samples of, ascending."""


class Cloud(Protocol):
    """Where versions come from."""

    def version_for(self, device: Device) -> Version:
        """The newest one that is meant for `device`."""

    def merge(self, deliveries: Sequence[Delivery]) -> None:
        """Make the next versions of a round's updates, which are at least one."""


class AveragingCloud:
    """One lineage; its versions are averages."""

    def __init__(self, merge: Averaging, first: NeuralLearner) -> None:
        self._merge, self._version = merge, Version(first)

    def version_for(self, device: Device) -> Version:  # noqa: ARG002 - all devices share it
        return self._version

    def merge(self, deliveries: Sequence[Delivery]) -> None:
        base = self._version.learner
        # The platform's order: by content, then samples.
        ordered = sorted(deliveries, key=lambda one: (hashlib.sha256(one.payload).hexdigest(), one.samples))
        contributions = [Contribution(one.update, one.samples) for one in ordered]
        blocks = (iter(contributions[start : start + BLOCK]) for start in range(0, len(contributions), BLOCK))
        merged = merge_blocks(self._merge, base.graphs.spec, base.parameters, blocks)
        if all(np.isfinite(tensor).all() for tensor in merged.values()):
            self._version = Version(base.beginning_with(merged))
