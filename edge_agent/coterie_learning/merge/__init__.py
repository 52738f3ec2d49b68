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
    """What an algorithm remembers from round to round, beside the version that it made."""

    tensors: Mapping[str, Tensors] = NOTHING
    """By what they are, e.g. ``momentum``: one tensor for each parameter, in its shape."""
    notes: Mapping[str, Note] = NO_NOTES
    """What belongs to no parameter, e.g. how many rounds there were."""


class Cohort(NamedTuple):
    """How many updates are merged, and of how many devices."""

    updates: int
    fleet: int
    """Devices that could have taken part; at least `updates`."""

    @property
    def share(self) -> float:
        """Of the fleet, those whose updates are merged."""
        return self.updates / self.fleet


@dataclass(frozen=True, eq=False)
class Aggregate(Mapping[str, Float64]):
    """By the names of a block's parameters, the mean or combined update."""

    numbers: Mapping[str, Float64]
    """Besides, as ``PART.NAME``, those of the parts that devices send beyond the difference (`Local.parts`)."""
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
    """What a merge has made of a block of parameters."""

    parameters: Mapping[str, Float32 | Float64]
    """They may be not finite, which the caller checks."""
    state: ServerState = ServerState()


class Geometry(NamedTuple):
    """Where the updates of a round lie, all parameters together."""

    norms: Float64
    """[updates], L2."""
    squared_distances: Float64
    """[updates, updates] between them, symmetric and zero on the diagonal; [0, 0] where a merge reads ``norms``."""


class Vote(NamedTuple):
    """What a merge that compares updates makes of them."""

    weights: Float64
    """[updates], at least 0, which leaves an update out; the merge is their weighted sum divided by `divisor`."""
    distances: Float64
    """[updates], how far each lies from the others, as the kind measures it; what stands out is named by it."""
    divisor: float | None = None
    """None: the sum of the weights, which makes the weighted sum a mean."""


class Merge(Kind, frozen=True):
    """How what devices have learned becomes the next version.

    A kind says what it `reads`:

    - ``sums``: the weighted mean of the updates, whose sums are exact;
    - ``columns``: of each parameter, the numbers of all updates in ascending order, through `combine`;
    - ``norms`` or ``distances``: how large the updates are, or also how far from one another, through `weigh`; then the
      sum with these weights, exact as under ``sums``;
    - ``models``: each device's model by itself; none of the methods below are asked, the merge is a job of its own.

    `finish` and `combine` are asked a block of parameters at a time, in which tensors may be flat and parts of tensors:
    what they make of a parameter depends on nothing but that parameter's numbers and the notes, and they make the same
    notes in every block. A kind that is `whole`, which remembers nothing, is asked once instead.
    """

    reads: ClassVar[Reads]
    trains_cloud_model: ClassVar[bool] = False
    """Whether the cloud model learns too, on the cloud data, where the devices' models are compared."""
    compares_with_root: ClassVar[bool] = False
    """Whether `weigh` gets, as the last of the updates, one that the platform computes from samples of its own."""
    whole: ClassVar[bool] = False
    """Whether `finish` gets the whole model at once, tensors in their shapes, because one is made of several others."""
    sends: ClassVar[tuple[str, ...]] = ()
    """The tensors of its state that devices of a round get with the version; where there are some, they get all."""

    def counted(self, samples: Sequence[int]) -> Sequence[int]:
        """How often each of the updates counts, by the `samples` it was computed from; once, if a kind says no more."""
        return [1 for _ in samples]

    def too_few(self, updates: int) -> Reason | None:  # noqa: ARG002 - most take any number
        """Why so few cannot be merged; None: they can."""
        return None

    def root_samples(self) -> int:
        """How many samples the platform computes its own update from at most, where it `compares_with_root`."""
        raise NotImplementedError

    def weigh(self, found: Geometry) -> Vote:
        """By what each update counts, whichever order they are listed in: sums are by ``math.fsum``.

        The vote is on the devices' updates alone.
        """
        raise NotImplementedError

    def init(self, parameters: Tensors) -> ServerState:  # noqa: ARG002 - most remember nothing
        """What is remembered before the first merge; without `parameters`, which tensors there will be."""
        return ServerState()

    def combine(self, columns: Float32) -> Float64:
        """One number for each column of `columns` [updates, parameters], each of which is in ascending order."""
        raise NotImplementedError

    def finish(self, aggregate: Aggregate, base: Tensors, state: ServerState) -> Finished:
        """The new parameters: `base` and the mean or combined update `aggregate`, if a kind does no more."""
        return Finished({name: tensor + aggregate[name] for name, tensor in base.items()}, state)
