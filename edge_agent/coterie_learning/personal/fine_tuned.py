"""Local fine-tuning: each version is trained further on the device's own samples (Wang et al. 2019, arXiv 1910.10252).

The baseline that personalised methods are to beat (Yu, Bagdasaryan, Shmatikov 2020, arXiv 2002.04758, section 3).
"""

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from coterie_learning.local import Local
from coterie_learning.personal import Personal, PersonalRules


class FineTuned(Personal, frozen=True, tag="fine_tuned"):
    """A device trains each version on its own samples, and answers with the better of the two on samples held out.

    Little is gained where devices' data are alike; where they are also few, what is held out may choose wrongly.
    """

    since: ClassVar[str] = "0.2"
    epochs: Annotated[int, Meta(ge=1, le=1000, description="passes over the device's samples, at most")] = 40
    learning_rate: Annotated[
        Annotated[float, Meta(gt=0, le=100)] | None, Meta(description="step size; none: that of the rounds")
    ] = None
    patience: Annotated[
        int, Meta(ge=1, le=1000, description="epochs without a lower loss on the samples held out before it stops")
    ] = 5
    again_share: Annotated[
        float,
        Meta(gt=0, le=1, description="share of the samples that must be new before it trains a version once more"),
    ] = 0.2

    def rules(self, local: Local) -> PersonalRules:
        scalars = msgspec.structs.replace(local.weights(0), proximal_weight=0.0, distillation_weight=0.0)
        if self.learning_rate is not None:
            scalars = msgspec.structs.replace(scalars, learning_rate=self.learning_rate)
        return PersonalRules(
            epochs=self.epochs,
            patience=self.patience,
            scalars=scalars,
            starts_from="version",
            again_share=self.again_share,
        )
