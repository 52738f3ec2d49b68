"""The settings that the parties of an alliance agree on before anything is sent."""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie_learning.vertical.protection import DEFAULT_NOISE


class VerticalTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How two parties train together."""

    epochs: Annotated[int, Meta(ge=1, le=10_000)] = 20
    learning_rate: Annotated[float, Meta(gt=0, le=10)] = 0.05
    """Learning rate of the first epoch; it falls linearly to zero over the epochs."""
    momentum: Annotated[float, Meta(ge=0, lt=1)] = 0.9
    noise: Annotated[float, Meta(ge=0, le=100)] = DEFAULT_NOISE
    """Noise on gradients at the cut, in mean norms of these; 0: labels are not hidden from the other party."""
    held_share: Annotated[float, Meta(gt=0, lt=1)] = 0.2
    """Share of the common people with a label that is held out for evaluation."""
    least_rows: Annotated[int, Meta(ge=2)] = 200
    """Least number of common people; with fewer, a party alone does as well."""
    seed: Annotated[int, Meta(ge=0, lt=1 << 53)] = 0
    """Seed of the order in which people are trained on."""

    def rate(self, epoch: int) -> float:
        """The learning rate of epoch `epoch`, counted from 0."""
        return self.learning_rate * (1 - epoch / self.epochs)
