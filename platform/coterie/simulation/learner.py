"""The model of a virtual device as an immutable value, so that changes can be compared and undone."""

from typing import NamedTuple, Protocol, Self

from coterie.evaluation.datasets import Dataset, Inputs
from coterie_learning.plan import Plan
from coterie_wire.bundle import TensorSpec
from coterie_wire.tensors import Float32


class Task(NamedTuple):
    """A learning task: inputs and classes."""

    inputs: tuple[TensorSpec, ...]
    """Shapes of one sample, without the batch axis."""
    classes: int


class TransferTerms(NamedTuple):
    """The terms of a transfer between helper and target."""

    classes: tuple[int, ...]
    """Classes that the target asks help for, ascending."""
    plan: Plan
    """Its `help` says what a portion holds, its `privacy` and `codec` are applied to it like to an update."""
    seed: int


class Learner(Protocol):
    """One device's model, immutable: training and merging return the next one."""

    @property
    def size_bytes(self) -> int:
        """Size of the whole model when sent."""

    @property
    def batch_size(self) -> int | None:
        """Samples in a batch of training between rounds; None: all that there are."""

    def predict(self, inputs: Inputs) -> Float32:
        """Probabilities [n, classes]."""

    def learn(self, batch: Dataset, *, seed: int, first: int = 1) -> Self:
        """The model after it has trained on `batch`; the same seed gives the same model.

        `first` is the number of its first sample on the device.
        """

    def portion(self, terms: TransferTerms) -> bytes:
        """The payload of a helper: the encoded part of its model for `terms.classes`."""

    def with_portion(self, payload: bytes, terms: TransferTerms, window: Dataset) -> Self:
        """The model with a helper's portion; `window` are the target's newest samples.

        Raises WireError for a payload that violates `terms`.
        """
