"""The cloud of a simulation: makes versions from devices' updates."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

from coterie.core.errors import CoterieError
from coterie.evaluation.datasets import Dataset
from coterie.simulation.device import Device
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.lineage import ArrivedUpdate, Lineage
from coterie_learning.plan import Plan
from coterie_learning.privacy import Privacy
from coterie_wire.tensors import Float32, Tensors


class Teacher(Protocol):
    """The cloud model as sent to devices."""

    @property
    def size_bytes(self) -> int:
        """Size of its download."""

    def probabilities(self, data: Dataset) -> Float32:
        """[n, classes]."""


class Version(NamedTuple):
    """A device model as devices download it; two versions are the same only if they are one object."""

    learner: NeuralLearner
    teacher: Teacher | None = None
    server: Mapping[str, Tensors] = MappingProxyType({})
    """The part of the server state that devices receive."""
    privacy: Privacy | None = None
    """The plan's privacy kind, with the version's bound where that adapts to updates; None: as in the plan."""
    number: int = 0
    """One more than the number of the version it was made from, where rounds may be asynchronous."""
    difference_bytes: int | None = None
    """Size of the download for a device with the previous version; None: the version is sent in full."""

    def size_bytes(self, held: "Version | None") -> int:
        """Size of the parameters' download for a device with the version `held`."""
        whole = self.learner.size_bytes
        if self.difference_bytes is None or held is None or held.number != self.number - 1:
            return whole
        return min(whole, self.difference_bytes)


class DeliveredUpdate(NamedTuple):
    """One device's update as it arrived."""

    device: Device
    base: Version
    payload: bytes
    samples: int
    seen: tuple[int, ...]
    """Classes whose rows the update holds, ascending, where the plan customises the output layer."""
    seed: int = 0
    """Seed of the training."""


class MergeResult(NamedTuple):
    """The result of a round's merge."""

    summed: Sequence[DeliveredUpdate] = ()
    """The updates in its sum."""
    fault: CoterieError | None = None
    """Why it gave no version."""


class Cloud(Protocol):
    """Where versions come from."""

    def version_for(self, device: Device | None) -> Version:
        """The newest version for `device`; None: for a device in no group."""

    def merge(self, deliveries: Sequence[DeliveredUpdate]) -> MergeResult:
        """Make the next versions from at least one update of a round."""

    def is_resting(self, device: Device) -> bool:
        """Whether `device` may not take part in the next merge."""


class AveragingCloud:
    """One lineage, whose versions are merges of updates."""

    def __init__(
        self, plan: Plan, first: NeuralLearner, *, fleet: int, seed: int = 0, samples: Dataset | None = None
    ) -> None:
        """`fleet` is the number of devices; noise is drawn from `seed`; `samples` are the platform's own."""
        self._plan, self._samples, self._version = plan, samples, Version(first)
        self._lineage = Lineage(plan, first.graphs.spec, first.parameters, fleet=fleet, seed=seed)
        self._latest: dict[int, int] = {}
        """By device, the newest of the sums released in a stream that it took part in."""

    def version_for(self, device: Device | None) -> Version:  # noqa: ARG002 - all devices share it
        return self._version

    def merge(self, deliveries: Sequence[DeliveredUpdate]) -> MergeResult:
        lineage, train_step = self._lineage, self._version.learner.graphs.train_step
        released = len(lineage.digests)
        counting = [(one, discount) for one in deliveries if (discount := self._discount(one))]
        found = lineage.merge(
            [ArrivedUpdate(one.payload, one.samples, one.seen, one.seed, discount) for one, discount in counting],
            root=None if self._samples is None else lineage.root(train_step, self._samples),
        )
        summed = [counting[place][0] for place in found.counted]
        if len(lineage.digests) > released:
            self._latest |= {one.device.number: released for one in summed}
        if found.fault is None:
            newest = lineage.newest
            self._version = Version(
                self._version.learner.beginning_with(newest.parameters),
                server=lineage.sent_state,
                privacy=lineage.privacy,
                number=newest.number,
                difference_bytes=newest.difference_bytes,
            )
        return MergeResult(summed, found.fault)

    def is_resting(self, device: Device) -> bool:
        stream, latest = self._plan.privacy.stream(), self._latest.get(device.number)
        if stream is None:
            return False
        done = len(self._lineage.digests)
        return done >= stream.rounds or (latest is not None and done - latest < stream.apart)

    def _discount(self, delivery: DeliveredUpdate) -> int:
        return self._plan.pace.discount(self._version.number - delivery.base.number)
