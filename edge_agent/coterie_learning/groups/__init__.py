"""Slot `groups`: does one model serve all? One module a kind."""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from coterie_learning.grouping.distances import ModelOutputs
from coterie_learning.kinds import Kind


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
    """How the devices of a federation are assigned to models."""

    divides: ClassVar[bool] = True
    """Whether there may be several groups."""

    def split(self, outputs: ModelOutputs) -> Grouping:
        """Divide the models that give `outputs` for the cloud data."""
        raise NotImplementedError
