"""Slot `groups`: does one model serve all? One module a kind."""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from coterie_learning.grouping.distances import ModelOutputs
from coterie_learning.kinds import Kind


class Grouping(NamedTuple):
    """Devices' models divided into groups, with the reason."""

    labels: tuple[int, ...]
    """The group of each model; groups are numbered from 0 in the order of their first model."""
    exemplars: tuple[int, ...]
    """The exemplar of each group."""
    silhouettes: Mapping[int, float]
    """By number of groups, the silhouette of the best division, -1 to 1."""
    reason: str
    """The reason for the number of groups, as a sentence."""
    distances: tuple[tuple[float, ...], ...] = ()
    """[groups, groups]: mean distance of models, between groups or within one; empty: not measured."""


class Groups(Kind, frozen=True):
    """How the devices of a federation are assigned to models."""

    divides: ClassVar[bool] = True
    """Whether there may be several groups."""

    def split(self, outputs: ModelOutputs) -> Grouping:
        """Divide the models, given their `outputs` for the cloud data."""
        raise NotImplementedError
