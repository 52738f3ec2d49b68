"""What the cloud does with what devices have learned: it makes the versions that they download."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from coterie.evaluation.datasets import Dataset
from coterie.simulation.device import Device
from coterie.simulation.learners.neural import NeuralLearner
from coterie_learning.cohort import admit, weights
from coterie_learning.fold import Counted, fold_in_memory
from coterie_learning.merge import ServerState
from coterie_learning.plan import Plan
from coterie_learning.update_files import Contents, UpdateFile
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Float32, Tensors


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
    """Classes whose rows the update holds, ascending, where the plan customises the output layer."""


class Cloud(Protocol):
    """Where versions come from."""

    def version_for(self, device: Device) -> Version:
        """The newest one that is meant for `device`."""

    def merge(self, deliveries: Sequence[Delivery]) -> None:
        """Make the next versions of a round's updates, which are at least one."""


class AveragingCloud:
    """One lineage; its versions are folds of updates."""

    def __init__(self, plan: Plan, first: NeuralLearner) -> None:
        self._merge, self._version = plan.merge, Version(first)
        self._contents = Contents(first.graphs.spec, plan.codec, plan.local)
        self._state: ServerState | None = None

    def version_for(self, device: Device) -> Version:  # noqa: ARG002 - all devices share it
        return self._version

    def merge(self, deliveries: Sequence[Delivery]) -> None:
        merge, base, spec = self._merge, self._version.learner, self._contents.model
        opens = [partial(self._opened, one) for one in deliveries]
        kept = admit(opens, spec, {}, lambda _place: None).kept
        if not kept:
            return
        found = weights(merge.counted([deliveries[place].samples for place in kept]))
        counted = [Counted(opens[place], weight) for place, weight in zip(kept, found, strict=True)]
        folded = fold_in_memory(
            merge, spec.parameters, counted, base.parameters, self._state, parts=self._contents.local.parts
        )
        if all(np.isfinite(tensor).all() for tensor in folded.parameters.values()):
            self._version = Version(base.beginning_with(folded.parameters))
            self._state = folded.state

    @contextmanager
    def _opened(self, delivery: Delivery) -> Iterator[UpdateFile]:
        classes = delivery.seen if self._contents.local.scope().head == "seen" else ()
        yield self._contents.open(InMemory(delivery.payload), classes)
