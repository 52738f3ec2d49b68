"""Colla's groups: affinity propagation on the models' outputs for the cloud data (Lu et al. 2019, SEC, grouping).

The paper chooses among 2, 3, 5 and 10 groups by the highest silhouette. Affinity propagation takes no number of
groups, so its preference is swept. The result is one group where no division has a sufficient silhouette, or where
halves of the models would be divided differently: personal variation and noise around a single behaviour also look like
groups.
"""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from coterie_learning.grouping.affinity_propagation import jittered, no_messages, propagate
from coterie_learning.grouping.distances import Distances, ModelOutputs, group_distances, model_distances
from coterie_learning.grouping.silhouette import mean_silhouette
from coterie_learning.grouping.stability import Divided, prediction_strength
from coterie_learning.groups import Grouping, Groups
from coterie_learning.kinds import Resources
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason

if TYPE_CHECKING:
    from coterie_learning.plan import Plan

SWEEP_FACTOR = 1.5
"""Step between one preference and the next."""


class Affinity(Groups, frozen=True, tag="affinity"):
    """Devices whose models give similar outputs for the same samples share a model."""

    most_groups: Annotated[int, Meta(ge=1, le=100, description="groups at most")] = 10
    damping: Annotated[
        float, Meta(ge=0.5, lt=1, description="share of the last message kept in affinity propagation")
    ] = 0.8
    least_silhouette: Annotated[
        float, Meta(ge=0, le=1, description="mean silhouette under which a division is not worth its name: one group")
    ] = 0.2
    least_strength: Annotated[
        float,
        Meta(ge=0, le=1, description="prediction strength under which a division is one of chance: one group; 0: any"),
    ] = 0.8
    least_members: Annotated[
        int, Meta(ge=1, le=1_000_000, description="devices that a group needs; the rest join the nearest other one")
    ] = 3

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        if plan.merge.trains_cloud_model:
            return None
        sentence = "it compares what models give for cloud data, which only a merge computes that trains a cloud model"
        return Reason("plan.needs_outputs", sentence)

    def split(self, outputs: ModelOutputs) -> Grouping:
        return self.split_by(model_distances(outputs))

    def split_by(self, distances: Distances) -> Grouping:
        """Divide models by their `distances` [models, models]."""
        models = len(distances)
        found: dict[int, _Division] = {}
        if models >= 2 * self.least_members and self.most_groups > 1:
            found = _best(self._divisions(distances, least_members=self.least_members))
        silhouettes = {count: found[count].silhouette for count in sorted(found)}
        if not silhouettes:
            return _one(distances, {}, _too_alike(models, self.least_members))
        best = max(silhouettes, key=lambda count: (silhouettes[count], -count))
        if silhouettes[best] < self.least_silhouette:
            sentence = f"one group: {best} would be told apart best, with silhouette {silhouettes[best]:.2f}"
            return _one(distances, silhouettes, f"{sentence}, and {self.least_silhouette:.2f} is the least that counts")
        strength = prediction_strength(distances, found[best].labels, lambda half: self._into(best, half))
        if strength < self.least_strength:
            sentence = f"one group: {best} would be told apart best, with silhouette {silhouettes[best]:.2f}, but"
            sentence += f" halves of the models are divided otherwise: prediction strength {strength:.2f}"
            return _one(distances, silhouettes, f"{sentence}, and {self.least_strength:.2f} is the least that counts")
        others = ", ".join(f"{value:.2f} with {count}" for count, value in silhouettes.items() if count != best)
        measured = f"prediction strength {strength:.2f}, silhouette {silhouettes[best]:.2f}"
        reason = f"{best} groups: {measured}" + (f", against {others}" if others else "")
        return _numbered(found[best], distances, silhouettes, reason)

    def _into(self, count: int, distances: Distances) -> Divided | None:
        """The best division of a part of the models into `count` groups of any size."""
        divisions = self._divisions(distances, least_members=1)
        enough = takewhile(lambda division: len(division.exemplars) >= count, divisions)
        division = _best(enough).get(count)
        return None if division is None else Divided(division.labels, division.exemplars)

    def _divisions(self, distances: Distances, *, least_members: int) -> "Iterator[_Division]":
        """Divisions by falling preference, each starting from the previous messages, until one group is left."""
        if len(distances) < 2:
            return
        similarities = jittered(-distances)
        messages = no_messages(len(distances))
        scale = float(distances.mean())
        preference = -scale / 4
        while preference > -scale * len(distances):
            found = propagate(similarities, preference, damping=self.damping, begin=messages)
            preference *= SWEEP_FACTOR
            if found is None:
                continue
            messages = found.messages
            if len(found.exemplars) == 1:
                return
            division = self._division(distances, found.exemplars, least_members)
            if division is not None:
                yield division

    def _division(self, distances: Distances, exemplars: NDArray[np.int64], least_members: int) -> "_Division | None":
        """The groups around `exemplars`, without those that are too small; None if one or too many remain."""
        while len(exemplars) > 1:
            labels = distances[:, exemplars].argmin(axis=1)
            labels[exemplars] = np.arange(len(exemplars))
            sizes = np.bincount(labels, minlength=len(exemplars))
            smallest = int(sizes.argmin())
            if sizes[smallest] >= least_members:
                if len(exemplars) > self.most_groups:
                    return None
                return _Division(labels, exemplars, mean_silhouette(distances, labels))
            exemplars = np.delete(exemplars, smallest)
        return None


class _Division(NamedTuple):
    """One division, by the place of each model's exemplar."""

    labels: NDArray[np.int64]
    exemplars: NDArray[np.int64]
    silhouette: float


def _best(divisions: Iterable[_Division]) -> dict[int, _Division]:
    """By number of groups, the division with the highest silhouette."""
    found: dict[int, _Division] = {}
    for division in divisions:
        count = len(division.exemplars)
        if count not in found or division.silhouette > found[count].silhouette:
            found[count] = division
    return found


def _one(distances: Distances, silhouettes: dict[int, float], reason: str) -> Grouping:
    middle = (int(distances.sum(axis=1).argmin()),) if len(distances) else ()
    return Grouping((0,) * len(distances), middle, silhouettes, reason)


def _too_alike(models: int, least_members: int) -> str:
    if models < 2 * least_members:
        return f"one group: {models} models are too few for two groups of {least_members}"
    return "one group: the models are too alike to be told apart"


def _numbered(division: _Division, distances: Distances, silhouettes: dict[int, float], reason: str) -> Grouping:
    order = list(dict.fromkeys(division.labels.tolist()))
    number = {label: place for place, label in enumerate(order)}
    labels = np.array([number[label] for label in division.labels.tolist()], np.int64)
    return Grouping(
        tuple(labels.tolist()),
        tuple(int(division.exemplars[label]) for label in order),
        silhouettes,
        reason,
        tuple(map(tuple, group_distances(distances, labels).tolist())),
    )
