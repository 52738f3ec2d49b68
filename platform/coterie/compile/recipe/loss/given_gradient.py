"""A gradient that comes from elsewhere: the half of a network that ends in the middle is trained by it.

The loss of a sample is the inner product of its output and of the gradient that is given for it, so that the gradient
by the output is the given one; the loss itself says nothing about how good the model is.
"""

from coterie.compile.recipe.loss import Loss
from coterie_wire.bundle import Task, TensorSpec


class GivenGradient(Loss, frozen=True, tag="given_gradient"):
    """For one half of a split network: the target is the gradient of a sample's loss by the output of this half."""

    @property
    def task(self) -> Task:
        return "values"

    def target(self, output: TensorSpec) -> TensorSpec | None:
        return TensorSpec("target", "float32", output.shape)

    def expected_output(self) -> str:
        return "numbers [batch, ...]"
