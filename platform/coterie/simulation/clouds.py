"""The cloud of a simulation: makes versions of the updates of devices."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from coterie.cloud.root_update import root_update
from coterie.evaluation.datasets import Dataset
from coterie.simulation.device import Device
from coterie.simulation.learners.neural import NeuralLearner
from coterie_learning.cohort import admit, discounted, shortened
from coterie_learning.contribution import Contents, Measured
from coterie_learning.differences import make_difference
from coterie_learning.flat import parameters_of
from coterie_learning.fold import Aggregation, Counted, Release, fold_in_memory, partial_aggregate
from coterie_learning.merge import ServerState
from coterie_learning.noise import SECRET_BYTES
from coterie_learning.pace import FULL_WEIGHT
from coterie_learning.partial_sums import PartialFile, PartialSum, Sums, encode_sums, sum_specs
from coterie_learning.partial_sums import added as added_sums
from coterie_learning.plan import Plan
from coterie_learning.privacy import Masking, Privacy
from coterie_learning.random import random_bytes
from coterie_learning.secure_sum.vector import added
from coterie_learning.tally import tally
from coterie_learning.update_files import Contents as UpdateContents
from coterie_learning.update_files import UpdateFile
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Float32, Tensors, encode_tensors


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
    privacy: Privacy | None = None
    """The plan's kind, with the norm that goes with the version where it follows updates; None: as the plan has it."""
    number: int = 0
    """Each is one more than the version that it came of, where rounds may be asynchronous."""
    difference_bytes: int | None = None
    """What a device downloads that holds the one before; None: the version travels whole."""

    def size_bytes(self, held: "Version | None") -> int:
        """What a device downloads of its parameters that holds the version `held`."""
        whole = self.learner.size_bytes
        if self.difference_bytes is None or held is None or held.number != self.number - 1:
            return whole
        return min(whole, self.difference_bytes)


SENT = "sum"
"""What the sums that supernodes send are called."""


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
    seed: int = 0
    """Of the training."""


class _Counted(NamedTuple):
    """An update that is merged: one device's, or the mean of those that are summed under masks."""

    payload: bytes
    samples: int
    seen: tuple[int, ...]
    discount: int
    devices: int = 1


class Cloud(Protocol):
    """Where versions come from."""

    def version_for(self, device: Device) -> Version:
        """The newest one that is meant for `device`."""

    def merge(self, deliveries: Sequence[Delivery]) -> None:
        """Make the next versions from a round's updates, of which there is at least one."""

    def is_resting(self, device: Device) -> bool:
        """Whether `device` may have no part in the next merge."""


class AveragingCloud:
    """One lineage; its versions are folds of updates."""

    def __init__(
        self, plan: Plan, first: NeuralLearner, *, fleet: int, seed: int = 0, samples: Dataset | None = None
    ) -> None:
        """`fleet` is how many devices there are; noise is drawn from `seed`; `samples` are the platform's own."""
        self._local, self._samples = plan.local, samples
        self._fleet, self._privacy, self._masking = fleet, plan.privacy, plan.privacy.masking()
        self._secret = random_bytes(SECRET_BYTES, seed, "noise")
        self._digests: list[str] = []
        """Of the sums that were released in a stream, oldest first."""
        self._latest: dict[int, int] = {}
        """By device, the newest of them that it took part in."""
        self._merge, self._pace, self._version = plan.merge, plan.pace, Version(first)
        self._fan_in, self._tiers = plan.topology.fan_in(), len(plan.topology.tiers())
        self._contents = UpdateContents(first.graphs.spec, plan.codec, plan.local)
        self._state: ServerState | None = None
        self._down = plan.down.codec()
        self._residual: Tensors = {}
        """What the version lacks of what was merged, where it travels as a difference."""

    def version_for(self, device: Device) -> Version:  # noqa: ARG002 - all devices share it
        return self._version

    def merge(self, deliveries: Sequence[Delivery]) -> None:
        merge, base, spec = self._merge, self._version.learner, self._contents.model
        deliveries = [one for one in deliveries if self._discount(one)]
        updates = [_Counted(one.payload, one.samples, one.seen, self._discount(one)) for one in deliveries]
        if self._masking is not None and updates:
            updates = [self._summed(deliveries, self._masking)]
        opens = [partial(self._opened, one) for one in updates]
        bound = self._privacy.bound()
        admission = admit(opens, spec, {}, lambda _place: None, bound=bound)
        kept, norms = admission.kept, admission.norms
        if not kept or merge.too_few(len(kept)) is not None:
            return
        sound, samples = [opens[place] for place in kept], [updates[place].samples for place in kept]
        parts = self._contents.local.parts
        found = tally(merge, spec.parameters, sound, samples, parts=parts, root=self._root())
        discounts = tuple(updates[place].discount for place in kept)
        if bound is not None:
            discounts = shortened(discounts, norms, bound, parameters=parameters_of(spec.parameters))
        counting = [one for one in zip(kept, found.weights, discounts, strict=True) if one[1]]
        if not counting:
            return
        places, wanted, discounts = zip(*counting, strict=True)
        weighed = discounted(wanted, discounts)
        release = self._release(updates[place] for place in places)
        counted = [
            Counted(opens[place], *weight, devices=updates[place].devices)
            for place, weight in zip(places, weighed, strict=True)
        ]
        direct, partials = self._relayed(counted)
        folded = fold_in_memory(
            merge,
            spec.parameters,
            direct,
            base.parameters,
            self._state,
            Aggregation(
                parts=parts,
                scalars=self._contents.local.scalars,
                fleet=self._fleet,
                share=found.share,
                release=release,
                partials=partials,
            ),
        )
        if release is not None and release.digest:
            self._latest |= dict.fromkeys((deliveries[place].device.number for place in places), len(self._digests))
            self._digests.append(release.digest)
        if all(np.isfinite(tensor).all() for tensor in folded.parameters.values()):
            self._state = folded.state
            sent = folded.state.tensors if merge.sends else {}
            number = self._version.number + 1
            if release is not None and (norm := self._privacy.next_bound(norms, seed=release.seed)) is not None:
                self._privacy = self._privacy.bounded_by(norm)
            parameters, difference_bytes = self._travelling(base.parameters, folded.parameters)
            learner = base.beginning_with(parameters)
            self._version = Version(
                learner, server=sent, privacy=self._privacy, number=number, difference_bytes=difference_bytes
            )

    def _root(self) -> Callable[[], AbstractContextManager[UpdateFile]] | None:
        """The platform's own update, where the merge compares with it."""
        if not self._merge.compares_with_root:
            return None
        assert self._samples is not None, "a plan whose merge needs samples of the platform's is refused without"
        samples, base = self._samples.take(slice(0, self._merge.root_samples())), self._version.learner
        content, graphs = encode_tensors(base.parameters), base.graphs
        seed = int(hashlib.sha256(content).hexdigest()[:12], 16)
        return root_update(self._local, graphs.spec, graphs.train_step, samples, base.parameters, seed=seed)

    def _travelling(self, base: Tensors, merged: Tensors) -> tuple[Tensors, int | None]:
        """The version as devices get it, and the bytes of the difference, where it travels so."""
        if self._down is None:
            return merged, None
        made = make_difference(self._down, self._contents.model, base=base, merged=merged, residual=self._residual)
        self._residual = made.residual
        return made.version, len(made.payload)

    def is_resting(self, device: Device) -> bool:
        stream, latest = self._privacy.stream(), self._latest.get(device.number)
        if stream is None:
            return False
        done = len(self._digests)
        return done >= stream.rounds or (latest is not None and done - latest < stream.apart)

    def _summed(self, deliveries: Sequence[Delivery], masking: Masking) -> _Counted:
        """The mean of the updates: masks would leave the same sum, bit for bit."""
        contents, number = self._contents, self._version.number
        what = Contents(contents.model, contents.local, masking, members=len(deliveries), seed=number)
        vectors = []
        for one in deliveries:
            update = contents.open(InMemory(one.payload), ())
            measured, key = Measured(one.samples, 0.0, 0.0, None), random_bytes(SECRET_BYTES, one.seed, "noise")
            vectors.append(what.vector(update, measured, {}, seed=one.seed, key=key))
        total = added(vectors)
        summed = what.summed(total.numbers, total.tail, len(vectors), {}, contents.codec)
        return _Counted(summed.payload, summed.samples, (), FULL_WEIGHT, devices=summed.devices)

    def _relayed(self, counted: Sequence[Counted]) -> tuple[Sequence[Counted], Sequence[PartialSum]]:
        """What reaches the cloud update by update, and what as partial aggregates of neighbours, each a file."""
        if self._fan_in is None:
            return counted, ()
        local, model, fan_in = self._contents.local, self._contents.model, self._fan_in
        sites = [counted[begin : begin + fan_in] for begin in range(0, len(counted), fan_in)]
        partials = [
            self._sent(partial_aggregate(model.parameters, site, parts=local.parts), [one.weight for one in site])
            for site in sites
        ]
        for _ in range(self._tiers):
            groups = [partials[begin : begin + fan_in] for begin in range(0, len(partials), fan_in)]
            partials = [
                self._sent(
                    added_sums(dict(one.file.sums()) for one in group),
                    [weight for one in group for weight in one.weights],
                )
                for group in groups
            ]
        return (), partials

    def _sent(self, sums: Sums, weights: Sequence[int]) -> PartialSum:
        """A partial aggregate as it arrives: a file."""
        source = InMemory(encode_sums(sums, of=SENT))
        expected = sum_specs(self._contents.model, self._contents.local)
        return PartialSum(PartialFile(source, expected=expected, of=SENT), weights)

    def _release(self, updates: Iterable[_Counted]) -> Release | None:
        if self._privacy.releases != "sums":
            return None
        sums = [hashlib.sha256(update.payload).hexdigest() for update in updates]
        return Release.under(self._privacy, self._secret, [str(self._version.number), *sums], self._digests)

    def _discount(self, delivery: Delivery) -> int:
        return self._pace.discount(self._version.number - delivery.base.number)

    @contextmanager
    def _opened(self, update: _Counted) -> Iterator[UpdateFile]:
        classes = update.seen if self._contents.local.scope().head == "seen" else ()
        yield self._contents.open(InMemory(update.payload), classes)
