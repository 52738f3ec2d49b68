"""Cross-entropy of one class a sample, as ``torch.nn.CrossEntropyLoss`` takes its mean.

Label smoothing: Szegedy et al. 2016, arXiv 1512.00567, section 7.
"""

from typing import Annotated

from msgspec import Meta

from coterie.compile.recipe.loss import Loss
from coterie_wire.bundle import Task, TensorSpec

Weight = Annotated[float, Meta(ge=0, le=1e6)]


class CrossEntropy(Loss, frozen=True, tag="cross_entropy"):
    """For classifiers: the output is a logit for each class, the target a class."""

    label_smoothing: Annotated[
        float, Meta(ge=0, lt=1, description="share of the target that is spread over all classes")
    ] = 0.0
    class_weights: Annotated[
        tuple[Weight, ...] | None, Meta(description="how much a sample of each class counts; none: all the same")
    ] = None

    @property
    def task(self) -> Task:
        return "classes"

    def target(self, output: TensorSpec) -> TensorSpec | None:
        fits = len(output.shape) == 1 and output.shape[0] >= 2
        if self.class_weights is not None and len(self.class_weights) != output.shape[-1:][0]:
            return None
        return TensorSpec("target", "int64", ()) if fits else None

    def expected_output(self) -> str:
        weights = (
            "" if self.class_weights is None else f", as many as there are class weights: {len(self.class_weights)}"
        )
        return f"logits [batch, classes] of at least two classes{weights}"
