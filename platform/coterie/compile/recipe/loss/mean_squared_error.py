"""Mean squared error, the mean over all numbers of an output, as ``torch.nn.MSELoss``."""

from coterie.compile.recipe.loss import Loss
from coterie_wire.bundle import Task, TensorSpec


class MeanSquaredError(Loss, frozen=True, tag="mean_squared_error"):
    """For regression, and for auto-encoders, whose target is their input: output and target have the same shape."""

    @property
    def task(self) -> Task:
        return "values"

    def target(self, output: TensorSpec) -> TensorSpec | None:
        return TensorSpec("target", "float32", output.shape)

    def expected_output(self) -> str:
        return "numbers [batch, ...]"
