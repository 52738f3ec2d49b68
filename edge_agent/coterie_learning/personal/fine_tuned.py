"""Local fine-tuning: each version is trained further on the device's own samples (Wang et al. 2019, arXiv 1910.10252).

The baseline for personalised methods (Yu, Bagdasaryan, Shmatikov 2020, arXiv 2002.04758, section 3).
"""

from typing import Annotated, ClassVar

from msgspec import Meta

from coterie_learning.local import Local
from coterie_learning.personal import Personal, PersonalRules
from coterie_learning.personal._tuning import AgainShare, Patience, StepSize, tuning_scalars


class FineTuned(Personal, frozen=True, tag="fine_tuned"):
    """A device trains each version on its own samples, and uses the better of the two on samples held out.

    The gain is small where devices' data are similar; with few samples, the choice by those held out may be wrong.
    """

    since: ClassVar[str] = "0.2"
    epochs: Annotated[int, Meta(ge=1, le=1000, description="passes over the device's samples, at most")] = 40
    steps: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description="optimisation steps, at most, as the one of Per-FedAvg; none: all of the passes"),
    ] = None
    learning_rate: StepSize = None
    patience: Patience = 5
    again_share: AgainShare = 0.2

    def rules(self, local: Local) -> PersonalRules:
        return PersonalRules(
            epochs=self.epochs,
            patience=self.patience,
            scalars=tuning_scalars(local, learning_rate=self.learning_rate, proximal_weight=0.0),
            starts_from="version",
            again_share=self.again_share,
            steps=self.steps,
        )
