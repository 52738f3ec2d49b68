"""Slot `merge`: how updates become a version. One module a kind."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.kinds import Kind
from coterie_wire.conditions import Reason
from coterie_wire.tensors import Float32, Tensors

Float64 = NDArray[np.float64]
Reads = Literal["sums", "columns", "norms", "distances", "models"]
Note = float | int | str
NOTHING: Mapping[str, Tensors] = MappingProxyType({})
NO_NOTES: Mapping[str, Note] = MappingProxyType({})


class ServerState(NamedTuple):
    """An algorithm's server state from round to round, beside the version."""

    tensors: Mapping[str, Tensors] = NOTHING
    """By kind of state, e.g. ``momentum``: one tensor for each parameter, in its shape."""
    notes: Mapping[str, Note] = NO_NOTES
    """Values that belong to no parameter, e.g. the number of rounds."""


class Cohort(NamedTuple):
    """How many updates are merged, and from how many devices."""

    updates: int
    fleet: int
    """Devices that could have taken part; at least `updates`."""

    @property
    def share(self) -> float:
        """Share of the fleet whose updates are merged."""
        return self.updates / self.fleet


@dataclass(frozen=True, eq=False)
class Aggregate(Mapping[str, Float64]):
    """By the names of a block's parameters, the mean or combined update."""

    numbers: Mapping[str, Float64]
    """Also, as ``PART.NAME``, those of the parts that devices send beyond the difference (`Local.parts`)."""
    cohort: Cohort
    scalars: Mapping[str, float] = field(default_factory=dict)
    """The weighted means of `Local.scalars`."""

    def __getitem__(self, name: str) -> Float64:
        return self.numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)


class Finished(NamedTuple):
    """The result of a merge for a block of parameters."""

    parameters: Mapping[str, Float32 | Float64]
    """May contain numbers that are not finite, for which the caller checks."""
    state: ServerState = ServerState()


class Geometry(NamedTuple):
    """Norms and distances of a round's updates, over all parameters together."""

    norms: Float64
    """[updates], L2."""
    squared_distances: Float64
    """[updates, updates], symmetric and zero on the diagonal; [0, 0] where a merge reads ``norms``."""


class Vote(NamedTuple):
    """The weights that a merge derives from comparing updates."""

    weights: Float64
    """[updates], at least 0; an update of weight 0 is left out. The merge is the weighted sum divided by `divisor`."""
    distances: Float64
    """[updates], the distance of each from the others as the kind measures it; outliers are reported by it."""
    divisor: float | None = None
    """None: the sum of the weights, which makes the weighted sum a mean."""


class Merge(Kind, frozen=True):
    """How updates become the next version.

    A kind says what it `reads`:

    - ``sums``: the weighted mean of the updates, whose sums are exact;
    - ``columns``: for each parameter, the values of all updates in ascending order, through `combine`;
    - ``norms`` or ``distances``: the norms of the updates, or also their pairwise distances, through `weigh`; then the
    sum with these weights, exact as under ``sums``;
    - ``models``: each device's model by itself; the methods below are not called, as the merge is a separate job.

    `finish` and `combine` are called for a block of parameters at a time, in which tensors may be flat and partial: the
    result for a parameter depends only on that parameter's values and the notes, and every block gives the same notes.
    For a kind that is `whole`, which has no state, they are called once instead.
    """

    reads: ClassVar[Reads]
    trains_cloud_model: ClassVar[bool] = False
    """Whether the cloud model is also trained, on the cloud data, on which the devices' models are compared."""
    compares_with_root: ClassVar[bool] = False
    """Whether `weigh` gets, as the last update, one that the platform computes from its own samples."""
    whole: ClassVar[bool] = False
    """Whether `finish` gets the whole model at once, tensors in their shapes, as each depends on several others."""
    sends: ClassVar[tuple[str, ...]] = ()
    """The tensors of its state that devices of a round receive with the version, all of them where there are any."""

    def counted(self, samples: Sequence[int]) -> Sequence[int]:
        """The count of each update, given the `samples` it was computed from; once by default."""
        return [1 for _ in samples]

    def too_few(self, updates: int) -> Reason | None:  # noqa: ARG002 - most take any number
        """Why this number of updates is too small to merge; None: it is not."""
        return None

    def root_samples(self) -> int:
        """Largest number of samples for the platform's own update, where it `compares_with_root`."""
        raise NotImplementedError

    def weigh(self, found: Geometry) -> Vote:
        """The weight of each update, independent of their order: sums are by ``math.fsum``.

        The vote covers the devices' updates alone.
        """
        raise NotImplementedError

    def init(self, parameters: Tensors) -> ServerState:  # noqa: ARG002 - most remember nothing
        """The state before the first merge; without `parameters`, which tensors there will be."""
        return ServerState()

    def combine(self, columns: Float32) -> Float64:
        """One number for each column of `columns` [updates, parameters], each of which is in ascending order."""
        raise NotImplementedError

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        """The new parameters; by default the sum of `base` and the mean or combined update `aggregate`."""
        return Finished({name: tensor + aggregate[name] for name, tensor in base.items()}, state)
