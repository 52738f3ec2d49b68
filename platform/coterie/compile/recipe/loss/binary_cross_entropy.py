"""Binary cross-entropy with logits, the mean over the labels, as ``torch.nn.BCEWithLogitsLoss``."""

from coterie.compile.recipe.loss import Loss
from coterie_wire.bundle import Task, TensorSpec


class BinaryCrossEntropy(Loss, frozen=True, tag="binary_cross_entropy"):
    """For several labels a sample: the output is a logit for each, the target a number between 0 and 1 for each."""

    @property
    def task(self) -> Task:
        return "labels"

    def target(self, output: TensorSpec) -> TensorSpec | None:
        return TensorSpec("target", "float32", output.shape) if len(output.shape) == 1 else None

    def expected_output(self) -> str:
        return "logits [batch, labels]"
