"""The versions of one lineage, each made from updates by the same merge code as on the platform."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from coterie.cloud.averaging_job import NotFinite, NoUpdateLeft, TooFewUpdates
from coterie.cloud.root_update import root_update
from coterie.core.errors import CoterieError
from coterie.evaluation.datasets import Dataset
from coterie_learning.cohort import (
    UpdateFigures,
    Weight,
    admit,
    discounted,
    ordinary_norm,
    shortened,
    weights,
    weights_of_figures,
)
from coterie_learning.contribution import Contents as SummedContents
from coterie_learning.contribution import DeviceFigures
from coterie_learning.differences import make_difference
from coterie_learning.flat import parameters_of
from coterie_learning.fold import (
    Aggregation,
    CountedUpdate,
    Release,
    fold_in_memory,
    fold_statistics,
    partial_aggregate,
)
from coterie_learning.merge import ServerState
from coterie_learning.noise import SECRET_BYTES
from coterie_learning.pace import FULL_WEIGHT
from coterie_learning.partial_sums import PartialFile, PartialSum, Sums, added, encode_sums, sum_specs
from coterie_learning.plan import Plan
from coterie_learning.privacy import Masking, Privacy
from coterie_learning.random import random_bytes
from coterie_learning.secure_sum.vector import added as added_vectors
from coterie_learning.tally import tally
from coterie_learning.update_files import Contents, UpdateFile
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import running_statistics
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Tensors, encode_tensors

SENT = "sum"
"""The name of sums that are sent."""


class ArrivedUpdate(NamedTuple):
    """One device's update as it arrived."""

    payload: bytes
    samples: int
    seen: Sequence[int]
    """Classes whose rows it holds, ascending, where the plan customises the output layer."""
    seed: int = 0
    """Of the training."""
    discount: int = FULL_WEIGHT
    """Its weight, from `Pace.discount`; at least 1."""
    devices: int = 1
    """Number of devices of which it is the mean, where updates are summed under masks."""


class Merged(NamedTuple):
    """The result of a merge."""

    counted: Sequence[int] = ()
    """The places of the updates that were merged."""
    fault: CoterieError | None = None
    """Why it became no version; the platform's merge raises the same."""


class LineageState(NamedTuple):
    """A version, and the platform's state for it."""

    parameters: Tensors
    """With its running statistics, where it has some."""
    number: int = 0
    """One more than the number of the previous version."""
    state: ServerState | None = None
    residual: Tensors = MappingProxyType({})
    """The encoding error of the version, where it is sent as a difference."""
    difference_bytes: int | None = None
    """Size of the download for a device with the previous version; None: the version is sent in full."""
    bound: float | None = None
    """L2 norm, over all parts, to which updates of the version are clipped; None: they are not."""
    ordinary: float = 0.0
    """`ordinary_norm` of the updates of all versions so far."""


class Lineage:
    """Makes versions from updates."""

    def __init__(self, plan: Plan, model: ModelSpec, parameters: Tensors, *, fleet: int, seed: int) -> None:
        """`parameters` are those of the first version; `fleet` is the number of devices; `seed` is for noise."""
        self._plan, self._fleet, self._down = plan, fleet, plan.down.codec()
        self._contents = Contents(model, plan.codec, plan.local)
        self._secret = random_bytes(SECRET_BYTES, seed, "noise")
        self.newest = LineageState(parameters, bound=plan.privacy.bound())
        self.digests: list[str] = []
        """Of the sums that were released in a stream, oldest first."""

    @property
    def privacy(self) -> Privacy:
        """The plan's privacy kind, with the version's bound where that adapts to updates."""
        kind, bound = self._plan.privacy, self.newest.bound
        return kind if bound is None else kind.bounded_by(bound)

    @property
    def sent_state(self) -> Mapping[str, Tensors]:
        """The part of the server state that devices receive, by kind of tensor."""
        state = self.newest.state
        return {} if state is None or not self._plan.merge.sends else state.tensors

    @property
    def _statistics(self) -> Tensors:
        """The running statistics of the newest version."""
        return {spec.name: self.newest.parameters[spec.name] for spec in running_statistics(self._contents.model)}

    def weights(self, cohort: Sequence[UpdateFigures], discounts: Sequence[int]) -> Sequence[Weight]:
        """The weights in `merge_sums` of updates with these figures; 0: left out, like updates without samples."""
        places = [place for place, one in enumerate(cohort) if one.samples]
        found = weights_of_figures(self._plan.merge, [cohort[place] for place in places], self.newest.ordinary)
        counting = [(place, weight) for place, weight in zip(places, found, strict=True) if weight]
        weights = [Weight(0, 0)] * len(cohort)
        told = discounted([weight for _, weight in counting], [discounts[place] for place, _ in counting])
        for (place, _), weight in zip(counting, told, strict=True):
            weights[place] = weight
        return weights

    def merge_sums(self, sums: Sums, weights: Sequence[Weight], norms: Sequence[float]) -> CoterieError | None:
        """Make the next version from the `sums` of updates with these `weights` and `norms`; else returns why not.

        The model must not have running statistics, for which there are no such sums.
        """
        counted = [one for one in weights if one.weight]
        lack = self._lack(len(counted), of=len(weights))
        if lack is not None:
            return lack
        arrived = self._arrived(sums, [one.weight for one in counted])
        arrived = arrived._replace(full=[one.full for one in counted])
        ordinary = ordinary_norm(norms, self.newest.ordinary)
        return self._fold((), [arrived], share=1.0, release=None, ordinary=ordinary)

    def root(self, train_step: bytes, samples: Dataset) -> Callable[[], AbstractContextManager[UpdateFile]] | None:
        """The platform's own update of the newest version, from its `samples`; None: the merge needs none."""
        merge, begun = self._plan.merge, self.newest.parameters
        if not merge.compares_with_root:
            return None
        seed = int(hashlib.sha256(encode_tensors(begun)).hexdigest()[:12], 16)
        first = samples.take(slice(0, merge.root_samples()))
        return root_update(self._plan.local, self._contents.model, train_step, first, begun, seed=seed)

    def merge(
        self, updates: Sequence[ArrivedUpdate], root: Callable[[], AbstractContextManager[UpdateFile]] | None = None
    ) -> Merged:
        """Make the next version from single updates; `root` is the platform's own, for merges that compare with it."""
        merge, model, parts = self._plan.merge, self._contents.model, self._contents.local.parts
        masking, bound = self._plan.privacy.masking(), self.newest.bound
        if masking is not None and updates:
            updates = [self._summed(updates, masking)]
        opens = [partial(self._opened, one) for one in updates]
        admission = admit(
            opens, model, self._statistics, lambda _place: None, bound=bound, ordinary=self.newest.ordinary
        )
        kept, norms = admission.kept, admission.norms
        lack = self._lack(len(kept), of=len(updates))
        if lack is not None:
            return Merged(fault=lack)
        sound, samples = [opens[place] for place in kept], [updates[place].samples for place in kept]
        found = tally(merge, model.parameters, sound, samples, parts=parts, root=root)
        discounts = tuple(updates[place].discount for place in kept)
        if bound is not None:
            discounts = shortened(discounts, norms, bound, parameters=parameters_of(model.parameters))
        counting = [one for one in zip(kept, found.weights, discounts, strict=True) if one[1]]
        if not counting:
            return Merged(fault=_none_left(len(updates)))
        places, wanted, discounts = zip(*counting, strict=True)
        measured = weights([updates[place].samples for place in places])
        statistics = fold_statistics(
            model.statistics,
            [CountedUpdate(opens[place], weight) for place, weight in zip(places, measured, strict=True)],
            self._statistics,
        )
        release = self._release([updates[place] for place in places])
        direct, partials = self._relayed(
            [
                CountedUpdate(opens[place], *weight, devices=updates[place].devices)
                for place, weight in zip(places, discounted(wanted, discounts), strict=True)
            ]
        )
        fault = self._fold(
            direct,
            partials,
            share=found.share,
            release=release,
            ordinary=admission.ordinary,
            statistics=statistics,
        )
        if release is not None and release.digest:
            self.digests.append(release.digest)
        if release is not None and fault is None:
            next_bound = release.privacy.next_bound(norms, seed=release.seed)
            self.newest = self.newest._replace(bound=bound if next_bound is None else next_bound)
        return Merged(places, fault)

    def _lack(self, updates: int, *, of: int) -> CoterieError | None:
        """Why this number of updates, left of so many, cannot be merged; None: they can."""
        if not updates:
            return _none_left(of)
        too_few = self._plan.merge.too_few(updates)
        return None if too_few is None else TooFewUpdates(sentence=too_few.sentence)

    def _fold(
        self,
        updates: Sequence[CountedUpdate],
        partials: Sequence[PartialSum],
        *,
        share: float,
        release: Release | None,
        ordinary: float,
        statistics: Tensors = MappingProxyType({}),
    ) -> NotFinite | None:
        """Make the next version, or return why it is discarded. `ordinary` is that of `LineageState`."""
        local, model, before = self._contents.local, self._contents.model, self.newest
        folded = fold_in_memory(
            self._plan.merge,
            model.parameters,
            updates,
            before.parameters,
            before.state,
            Aggregation(
                parts=local.parts,
                scalars=local.scalars,
                fleet=self._fleet,
                share=share,
                release=release,
                partials=partials,
            ),
        )
        merged = {**folded.parameters, **statistics}
        for name, tensor in merged.items():
            if not np.isfinite(tensor).all():
                return NotFinite(tensor=name)
        after = LineageState(merged, before.number + 1, folded.state, bound=before.bound, ordinary=ordinary)
        if self._down is not None:
            made = make_difference(self._down, model, base=before.parameters, merged=merged, residual=before.residual)
            after = after._replace(parameters=made.version, residual=made.residual, difference_bytes=len(made.payload))
        self.newest = after
        return None

    def _summed(self, updates: Sequence[ArrivedUpdate], masking: Masking) -> ArrivedUpdate:
        """The mean of the updates, bit for bit as with masks."""
        contents = self._contents
        base = self._statistics
        what = SummedContents(contents.model, contents.local, masking, members=len(updates), seed=self.newest.number)
        vectors = []
        for one in updates:
            update = contents.open(InMemory(one.payload), ())
            measured, key = DeviceFigures(one.samples, 0.0, 0.0, None), random_bytes(SECRET_BYTES, one.seed, "noise")
            vectors.append(what.vector(update, measured, base, seed=one.seed, key=key))
        total = added_vectors(vectors)
        summed = what.summed(total.numbers, total.tail, len(vectors), base, contents.codec)
        return ArrivedUpdate(summed.payload, summed.samples, (), devices=summed.devices)

    def _relayed(self, counted: Sequence[CountedUpdate]) -> tuple[Sequence[CountedUpdate], Sequence[PartialSum]]:
        """The updates that reach the cloud individually, and those as partial aggregates of neighbours, each a file."""
        topology = self._plan.topology
        fan_in = topology.fan_in()
        if fan_in is None:
            return counted, ()
        local, model = self._contents.local, self._contents.model
        sites = [counted[begin : begin + fan_in] for begin in range(0, len(counted), fan_in)]
        partials = [
            self._arrived(partial_aggregate(model.parameters, site, parts=local.parts), [one.weight for one in site])
            for site in sites
        ]
        for _ in topology.tiers():
            groups = [partials[begin : begin + fan_in] for begin in range(0, len(partials), fan_in)]
            partials = [
                self._arrived(
                    added(dict(one.file.sums()) for one in group),
                    [weight for one in group for weight in one.weights],
                )
                for group in groups
            ]
        return (), partials

    def _arrived(self, sums: Sums, weights: Sequence[int]) -> PartialSum:
        """A partial aggregate as received: a file."""
        expected = sum_specs(self._contents.model, self._contents.local)
        return PartialSum(PartialFile(InMemory(encode_sums(sums, of=SENT)), expected=expected, of=SENT), weights)

    def _release(self, updates: Sequence[ArrivedUpdate]) -> Release | None:
        if self.privacy.releases != "sums":
            return None
        told = [hashlib.sha256(update.payload).hexdigest() for update in updates]
        return Release.under(self.privacy, self._secret, [str(self.newest.number), *told], self.digests)

    @contextmanager
    def _opened(self, update: ArrivedUpdate) -> Iterator[UpdateFile]:
        classes = update.seen if self._contents.local.scope().head == "seen" else ()
        yield self._contents.open(InMemory(update.payload), classes)


def _none_left(updates: int) -> NoUpdateLeft:
    return NoUpdateLeft(updates=updates, first="it is damaged, far larger than others, or given no weight")
