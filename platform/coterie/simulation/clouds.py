"""The cloud of a simulation: makes versions of the updates of devices."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from coterie.evaluation.datasets import Dataset
from coterie.simulation.device import Device
from coterie.simulation.learners.neural import NeuralLearner
from coterie_learning.cohort import admit, discounted, shortened
from coterie_learning.flat import parameters_of
from coterie_learning.fold import Counted, Release, fold_in_memory
from coterie_learning.merge import ServerState
from coterie_learning.noise import SECRET_BYTES, release_key
from coterie_learning.plan import Plan
from coterie_learning.random import random_bytes
from coterie_learning.tally import tally
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
    server: Mapping[str, Tensors] = MappingProxyType({})
    """What the merge remembers beside it, where devices get that."""
    number: int = 0
    """Each is one more than the version that it came of, where rounds may be asynchronous."""


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
        """Make the next versions from a round's updates, of which there is at least one."""


class AveragingCloud:
    """One lineage; its versions are folds of updates."""

    def __init__(self, plan: Plan, first: NeuralLearner, *, fleet: int, seed: int = 0) -> None:
        """`fleet` is how many devices there are; noise is drawn from `seed`."""
        self._fleet, self._privacy = fleet, plan.privacy
        self._secret = random_bytes(SECRET_BYTES, seed, "noise")
        self._merge, self._pace, self._version = plan.merge, plan.pace, Version(first)
        self._contents = Contents(first.graphs.spec, plan.codec, plan.local)
        self._state: ServerState | None = None

    def version_for(self, device: Device) -> Version:  # noqa: ARG002 - all devices share it
        return self._version

    def merge(self, deliveries: Sequence[Delivery]) -> None:
        merge, base, spec = self._merge, self._version.learner, self._contents.model
        deliveries = [one for one in deliveries if self._discount(one)]
        opens = [partial(self._opened, one) for one in deliveries]
        bound = self._privacy.bound()
        kept, _, norms = admit(opens, spec, {}, lambda _place: None, bound=bound)
        if not kept or merge.too_few(len(kept)) is not None:
            return
        sound, samples = [opens[place] for place in kept], [deliveries[place].samples for place in kept]
        parts = self._contents.local.parts
        found = tally(merge, spec.parameters, sound, samples, parts=parts)
        discounts = tuple(self._discount(deliveries[place]) for place in kept)
        if bound is not None:
            discounts = shortened(discounts, norms, bound, parameters=parameters_of(spec.parameters))
        counting = [one for one in zip(kept, found.weights, discounts, strict=True) if one[1]]
        if not counting:
            return
        places, wanted, discounts = zip(*counting, strict=True)
        weighed = discounted(wanted, discounts)
        counted = [Counted(opens[place], *weight) for place, weight in zip(places, weighed, strict=True)]
        folded = fold_in_memory(
            merge,
            spec.parameters,
            counted,
            base.parameters,
            self._state,
            parts=parts,
            scalars=self._contents.local.scalars,
            fleet=self._fleet,
            share=found.share,
            release=self._release(deliveries[place] for place in places),
        )
        if all(np.isfinite(tensor).all() for tensor in folded.parameters.values()):
            self._state = folded.state
            sent = folded.state.tensors if merge.sends else {}
            number = self._version.number + 1
            self._version = Version(base.beginning_with(folded.parameters), server=sent, number=number)

    def _release(self, deliveries: Iterable[Delivery]) -> Release | None:
        if self._privacy.releases != "sums":
            return None
        sums = [hashlib.sha256(delivery.payload).hexdigest() for delivery in deliveries]
        return Release(self._privacy, release_key(self._secret, str(self._version.number), *sums))

    def _discount(self, delivery: Delivery) -> int:
        return self._pace.discount(self._version.number - delivery.base.number)

    @contextmanager
    def _opened(self, delivery: Delivery) -> Iterator[UpdateFile]:
        classes = delivery.seen if self._contents.local.scope().head == "seen" else ()
        yield self._contents.open(InMemory(delivery.payload), classes)
