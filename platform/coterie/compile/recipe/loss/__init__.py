"""Choice `loss` of a recipe: what training makes small. One module a kind; its mathematics are in `compile.losses`."""

from coterie_learning.kinds import Kind
from coterie_wire.bundle import Task, TensorSpec


class Loss(Kind, frozen=True):
    """A loss for each sample; a batch has their mean by sample weight."""

    @property
    def task(self) -> Task:
        """What the output of its models is."""
        raise NotImplementedError

    def target(self, output: TensorSpec) -> TensorSpec | None:
        """What one sample's target must be for a model with this `output`; None where they do not fit together."""
        raise NotImplementedError

    def wanted(self) -> str:
        """What output it takes, for people."""
        raise NotImplementedError
