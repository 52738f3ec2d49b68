"""Choice `loss` of a recipe: what training minimises. One module a kind; its mathematics are in `compile.losses`."""

from coterie_learning.kinds import Kind
from coterie_wire.bundle import Task, TensorSpec


class Loss(Kind, frozen=True):
    """A loss for each sample; a batch has their mean by sample weight."""

    @property
    def task(self) -> Task:
        """The kind of its models' output."""
        raise NotImplementedError

    def target(self, output: TensorSpec) -> TensorSpec | None:
        """The spec of one sample's target for a model with this `output`; None where they do not fit together."""
        raise NotImplementedError

    def expected_output(self) -> str:
        """The outputs that it takes, for people."""
        raise NotImplementedError
