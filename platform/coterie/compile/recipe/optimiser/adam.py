"""Adam (Kingma and Ba 2015, arXiv 1412.6980, Algorithm 1), as ``torch.optim.Adam``."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from coterie.compile.recipe.optimiser import Optimiser

Decay = Annotated[float, Meta(ge=0, lt=1)]


class Adam(Optimiser, frozen=True, tag="adam"):
    """A step whose length each parameter has of its own; it takes memory twice as large as the parameters."""

    beta1: Annotated[Decay, Meta(description="share of the gradients' mean that is kept")] = 0.9
    beta2: Annotated[Decay, Meta(description="share of the squared gradients' mean that is kept")] = 0.999
    epsilon: Annotated[float, Meta(gt=0, le=1, description="keeps small gradients from long steps")] = 1e-8
    weight_decay: Annotated[
        bool, Meta(description="whether a plan may set weight decay, which is added to the gradient")
    ] = False

    def state(self) -> Sequence[str]:
        return ["mean", "square"]

    def scalars(self) -> Sequence[str]:
        return ["step", *(["weight_decay"] if self.weight_decay else [])]
