"""Cross-entropy at each position of a sequence, the mean over all positions that are not padding.

As ``torch.nn.CrossEntropyLoss(ignore_index=padding)`` over all positions of a batch.
"""

from typing import Annotated

from msgspec import Meta

from coterie.compile.recipe.loss import Loss
from coterie_wire.bundle import Task, TensorSpec


class NextToken(Loss, frozen=True, tag="next_token"):
    """For language models: the output is a logit for each token at each position, the target the token that follows."""

    padding: Annotated[
        int, Meta(ge=0, le=2**31, description="the token that fills a target up where its sequence has ended")
    ] = 0

    @property
    def task(self) -> Task:
        return "tokens"

    def target(self, output: TensorSpec) -> TensorSpec | None:
        return TensorSpec("target", "int64", output.shape[:1]) if len(output.shape) == 2 else None

    def expected_output(self) -> str:
        return "logits [batch, length, vocabulary]"
