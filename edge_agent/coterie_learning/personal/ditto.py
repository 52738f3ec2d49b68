"""Ditto: each device's personal model v minimises F(v) + (mu/2)·||v - w||², beside the version w (Li et al. 2021).

arXiv 2012.04221, Algorithm 1: v persists from round to round, regularised towards each new w; rounds train w as usual.
"""

from typing import Annotated, ClassVar

from msgspec import Meta

from coterie_learning.local import Local
from coterie_learning.personal import Personal, PersonalRules
from coterie_learning.personal._tuning import AgainShare, Patience, StepSize, tuning_scalars


class Ditto(Personal, frozen=True, tag="ditto"):
    """Training continues from the personal model, regularised towards the newest version; mu = 0 is local training.

    The larger mu, the nearer to the version: for data that differ little. It takes rounds to move away from a poor
    start, whereas fine-tuning starts from the version each time.
    """

    since: ClassVar[str] = "0.2"
    mu: Annotated[float, Meta(ge=0, le=1000, description="weight of the proximal term; the paper's lambda")] = 1.0
    epochs: Annotated[int, Meta(ge=1, le=1000, description="passes over the device's samples, at most")] = 5
    learning_rate: StepSize = None
    patience: Patience = 5
    again_share: AgainShare = 0.2

    def rules(self, local: Local) -> PersonalRules:
        return PersonalRules(
            epochs=self.epochs,
            patience=self.patience,
            scalars=tuning_scalars(local, learning_rate=self.learning_rate, proximal_weight=self.mu),
            starts_from="personal model",
            again_share=self.again_share,
        )
