"""AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101, Algorithm 2), as ``torch.optim.AdamW``."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from coterie.compile.recipe.optimiser import Optimiser
from coterie.compile.recipe.optimiser.adam import Decay


class AdamW(Optimiser, frozen=True, tag="adamw"):
    """Adam whose weight decay is a part of the step, not of the gradient."""

    beta1: Annotated[Decay, Meta(description="share of the gradients' mean that is kept")] = 0.9
    beta2: Annotated[Decay, Meta(description="share of the squared gradients' mean that is kept")] = 0.999
    epsilon: Annotated[float, Meta(gt=0, le=1, description="keeps small gradients from long steps")] = 1e-8

    def state(self) -> Sequence[str]:
        return ["mean", "square"]

    def scalars(self) -> Sequence[str]:
        return ["step", "weight_decay"]
