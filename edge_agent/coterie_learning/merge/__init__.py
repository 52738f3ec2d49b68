"""Slot `merge`: how updates become a version. One module a kind."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_learning.kinds import Kind
from coterie_wire.tensors import Float32, Tensors

Float64 = NDArray[np.float64]
Reads = Literal["sums", "columns", "models"]
Note = float | int | str
NOTHING: Mapping[str, Tensors] = MappingProxyType({})
NO_NOTES: Mapping[str, Note] = MappingProxyType({})


class ServerState(NamedTuple):
    """What an algorithm remembers from round to round, beside the version that it made."""

    tensors: Mapping[str, Tensors] = NOTHING
    """By what they are, e.g. ``momentum``: one tensor for each parameter, in its shape."""
    notes: Mapping[str, Note] = NO_NOTES
    """What belongs to no parameter, e.g. how many rounds there were."""


class Finished(NamedTuple):
    """What a merge has made of a block of parameters."""

    parameters: Mapping[str, Float32 | Float64]
    """They may be not finite, which the caller checks."""
    state: ServerState = ServerState()


class Merge(Kind, frozen=True):
    """How what devices have learned becomes the next version.

    A kind says what it `reads`:

    - ``sums``: the weighted mean of the updates, whose sums are exact;
    - ``columns``: of each parameter, the numbers of all updates in ascending order, through `combine`;
    - ``models``: each device's model by itself; none of the methods below are asked, the merge is a job of its own.

    Under the first two it is asked a block of parameters at a time, in which tensors may be flat and parts of tensors:
    what it makes of a parameter depends on nothing but that parameter's numbers and the notes, and it makes the same
    notes in every block.
    """

    reads: ClassVar[Reads]
    trains_cloud_model: ClassVar[bool] = False
    """Whether the cloud model learns too, on the cloud data, where the devices' models are compared."""

    def counted(self, samples: Sequence[int]) -> Sequence[int]:
        """How often each of the updates counts, by the `samples` it was computed from; once, if a kind says no more."""
        return [1 for _ in samples]

    def init(self, parameters: Tensors) -> ServerState:  # noqa: ARG002 - most remember nothing
        """What is remembered before the first merge; without `parameters`, which tensors there will be."""
        return ServerState()

    def combine(self, columns: Float32) -> Float64:
        """One number for each column of `columns` [updates, parameters], each of which is in ascending order."""
        raise NotImplementedError

    def finish(self, aggregate: Mapping[str, Float64], base: Tensors, state: ServerState) -> Finished:
        """The new parameters: `base` and the mean or combined update `aggregate`, if a kind does no more.

        Of what devices send besides (`Local.parts`), `aggregate` has the mean or combined number as ``PART.NAME``.
        """
        return Finished({name: tensor + aggregate[name] for name, tensor in base.items()}, state)
