"""The cloud of a fleet: versions are made of sums, or of single updates where a merge looks at each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

from coterie.simulation.fleet.block import Base, Found
from coterie.simulation.fleet.splits import Int64
from coterie_learning.cohort import Figures, admit, discounted, weights_of_figures
from coterie_learning.fold import Aggregation, Counted, Folded, fold_in_memory
from coterie_learning.merge import ServerState
from coterie_learning.pace import FULL_WEIGHT
from coterie_learning.partial_sums import PartialFile, PartialSum, encode_sums, sum_specs
from coterie_learning.plan import Plan
from coterie_learning.tally import tally
from coterie_learning.update_files import Contents, UpdateFile
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Tensors

SUM = "cohort"


@dataclass(eq=False)
class Versions:
    """The newest version of one lineage."""

    plan: Plan
    contents: Contents
    parameters: Tensors
    fleet: int
    state: ServerState | None = None
    number: int = 0

    @property
    def base(self) -> Base:
        """As devices receive it."""
        sends = bool(self.plan.merge.sends) and self.state is not None
        return Base(self.parameters, self.state.tensors if sends and self.state is not None else {})

    @property
    def needs_updates(self) -> bool:
        """Whether each update is wanted, rather than their sum."""
        return self.plan.merge.reads != "sums" or bool(self.plan.local.scalars)

    def weights(self, found: Sequence[Found]) -> Sequence[int]:
        """What each update weighs in a merge of sums; 0: it is left out."""
        places = [place for place, one in enumerate(found) if one.samples]
        weighed = weights_of_figures(self.plan.merge, [Figures(found[at].samples, found[at].norm) for at in places])
        weights = [0] * len(found)
        for place, weight in zip(places, weighed, strict=True):
            weights[place] = weight
        return weights

    def merge_sums(self, sums: Mapping[str, Int64], weights: Sequence[int]) -> bool:
        """The next version, of the `sums` of updates of these `weights`; whether there is one."""
        counted = [weight for weight in weights if weight]
        if not counted or self.plan.merge.too_few(len(counted)) is not None:
            return False
        local, model = self.contents.local, self.contents.model
        file = PartialFile(InMemory(encode_sums(sums, of=SUM)), expected=sum_specs(model, local), of=SUM)
        return self._fold((), partials=[PartialSum(file, counted)])

    def merge_updates(self, found: Sequence[Found], classes: Callable[[int], Sequence[int]]) -> bool:
        """The next version, of single updates; whether there is one. `classes` are those that a device sends."""
        given = [one for one in found if one.samples]
        opens = [partial(self._opened, one, classes) for one in given]
        admission = admit(opens, self.contents.model, {}, lambda _place: None)
        kept, merge = admission.kept, self.plan.merge
        if not kept or merge.too_few(len(kept)) is not None:
            return False
        sound, samples = [opens[place] for place in kept], [given[place].samples for place in kept]
        counts = tally(merge, self.contents.model.parameters, sound, samples, parts=self.contents.local.parts)
        pairs = [pair for pair in zip(sound, counts.weights, strict=True) if pair[1]]
        if not pairs:
            return False
        weighed = discounted([weight for _, weight in pairs], [FULL_WEIGHT] * len(pairs))
        counted = [Counted(one, *weight) for (one, _), weight in zip(pairs, weighed, strict=True)]
        return self._fold(counted, share=counts.share)

    def _fold(self, updates: Sequence[Counted], *, share: float = 1.0, partials: Sequence[PartialSum] = ()) -> bool:
        local = self.contents.local
        folded: Folded = fold_in_memory(
            self.plan.merge,
            self.contents.model.parameters,
            updates,
            self.parameters,
            self.state,
            Aggregation(parts=local.parts, scalars=local.scalars, fleet=self.fleet, share=share, partials=partials),
        )
        if not all(np.isfinite(tensor).all() for tensor in folded.parameters.values()):
            return False
        self.parameters, self.state, self.number = folded.parameters, folded.state, self.number + 1
        return True

    @contextmanager
    def _opened(self, found: Found, classes: Callable[[int], Sequence[int]]) -> Iterator[UpdateFile]:
        yield self.contents.open(InMemory(found.payload), classes(found.device))
