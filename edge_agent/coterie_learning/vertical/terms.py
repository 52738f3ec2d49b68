"""What the parties of an alliance agree on before anything is sent."""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_learning.vertical.protection import DEFAULT_NOISE


class VerticalTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How two parties train together."""

    epochs: Annotated[int, Meta(ge=1, le=10_000)] = 20
    learning_rate: Annotated[float, Meta(gt=0, le=10)] = 0.05
    """Of the first epoch; it falls to nothing by equal steps, an epoch each."""
    momentum: Annotated[float, Meta(ge=0, lt=1)] = 0.9
    noise: Annotated[float, Meta(ge=0, le=100)] = DEFAULT_NOISE
    """Of gradients over the cut, as a multiple of their mean length; 0: labels are not hidden from the other party."""
    held_share: Annotated[float, Meta(gt=0, lt=1)] = 0.2
    """Share of the common people with a label on whom the network is measured and never trained."""
    least_rows: Annotated[int, Meta(ge=2)] = 200
    """Common people that are needed; with fewer a party alone does as well."""
    seed: Annotated[int, Meta(ge=0, lt=1 << 53)] = 0
    """Of the order in which people are trained on."""

    def rate(self, epoch: int) -> float:
        """The learning rate of epoch `epoch`, counted from 0."""
        return self.learning_rate * (1 - epoch / self.epochs)
