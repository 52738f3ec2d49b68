"""Predictions, counted together: what one process of a device tells another without NumPy."""

from typing import Annotated

import msgspec
from msgspec import Meta

FEWEST = 32
"""Predictions that are counted together, at least; and samples by which inputs are judged."""


class PredictionCounts(msgspec.Struct, frozen=True):
    """Predictions of one model, whose labels nobody knows."""

    model: str
    """Which one; figures of different models say nothing of one another."""
    samples: Annotated[int, Meta(ge=1)]
    doubt: Annotated[float, Meta(ge=0)]
    """Sum of what the likeliest class's probability lacks of 1."""
    unlike: Annotated[int, Meta(ge=0)]
    """Samples that are unlike those that the device has."""
