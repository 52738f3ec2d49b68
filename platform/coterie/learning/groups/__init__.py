"""Slot `groups`: does one model serve all? One module a kind."""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coterie_wire.kinds import Kind

Said: TypeAlias = NDArray[np.float16] | NDArray[np.float32]
"""What models say about the same samples: probabilities [models, samples, classes]; they may lie in a mapped file."""


class Grouping(NamedTuple):
    """Devices' models divided into groups, and why so."""

    labels: tuple[int, ...]
    """The group of each model; groups are numbered from 0 in the order of their first model."""
    exemplars: tuple[int, ...]
    """For each group, the model in its middle."""
    silhouettes: Mapping[int, float]
    """By number of groups, how well the best division into so many separates them, -1 to 1."""
    reason: str
    """Why there are so many groups, in a sentence."""
    distances: tuple[tuple[float, ...], ...] = ()
    """[groups, groups]: how far apart models are on average, of two groups or of one; empty: it was not measured."""


class Groups(Kind, frozen=True):
    """How the devices of a federation are divided among models."""

    def split(self, outputs: Said) -> Grouping:
        """Divide the models that say `outputs` about the cloud data."""
        raise NotImplementedError
