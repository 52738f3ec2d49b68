"""Aggregated counts of predictions, exchanged between processes of a device without NumPy."""

from typing import Annotated

import msgspec
from msgspec import Meta

FEWEST = 32
"""Least number of predictions counted together, and of samples that inputs are compared with."""


class PredictionCounts(msgspec.Struct, frozen=True):
    """Counts of unlabelled predictions of one model."""

    model: str
    """The model; counts of different models are not comparable."""
    samples: Annotated[int, Meta(ge=1)]
    doubt: Annotated[float, Meta(ge=0)]
    """Sum of 1 - probability of the likeliest class."""
    unlike: Annotated[int, Meta(ge=0)]
    """Number of samples that are unlike those that the device has."""
