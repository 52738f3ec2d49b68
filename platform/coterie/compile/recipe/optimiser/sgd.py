"""Stochastic gradient descent, with momentum as ``torch.optim.SGD`` has it (Sutskever et al. 2013, section 2)."""

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from coterie.compile.recipe.optimiser import Optimiser


class Sgd(Optimiser, frozen=True, tag="sgd"):
    """A step along the gradient, or along the decaying sum of the latest ones."""

    momentum: Annotated[
        Literal["none", "plain", "nesterov"],
        Meta(
            description="whether a plan may set momentum, and of what kind; it takes memory as large as the parameters"
        ),
    ] = "plain"
    weight_decay: Annotated[bool, Meta(description="whether a plan may set weight decay")] = False

    def state(self) -> Sequence[str]:
        return [] if self.momentum == "none" else ["velocity"]

    def scalars(self) -> Sequence[str]:
        return [*(["momentum"] if self.momentum != "none" else []), *(["weight_decay"] if self.weight_decay else [])]
