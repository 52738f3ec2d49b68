"""Colla's cloud: clusters models; each lineage's cloud model learns from its members and is distilled into theirs.

The order of events is that of the platform's job (`learning.cloud.stage_four`), on the same functions.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coterie.cloud.compression import Compression
from coterie.cloud.distill_merge_job import NoSoundModel
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import predict_logits
from coterie.simulation.cloud_model import CloudModel, CloudTeacher, Pair
from coterie.simulation.clouds import DeliveredUpdate, MergeResult, Version
from coterie.simulation.device import Device
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.outcome import SplitOutcome
from coterie.simulation.participant import read_update
from coterie.simulation.world import World
from coterie_learning.grouping.matching import name_groups
from coterie_learning.groups import Groups
from coterie_learning.heads import mask_unseen, output_layer
from coterie_learning.merge.distill import DistillMerge, mean_output
from coterie_learning.metrics import log_softmax
from coterie_learning.plan import Plan, plan_document
from coterie_wire.structs import from_values
from coterie_wire.tensors import Float32

BASE = ""
"""The lineage of devices in no group."""


class _Lineage(NamedTuple):
    """One lineage."""

    cloud: bytes
    version: Version


class DistillingCloud:
    """A base lineage, and one for each group."""

    def __init__(self, world: World, plan: Plan, model: CloudModel, first: NeuralLearner, pair: Pair) -> None:
        self._world, self._plan, self._model, self._learner = world, plan, model, first
        self._merge = from_values(plan_document(plan)["merge"], DistillMerge)
        self._groups: Groups = plan.groups
        self._scope = plan.local.scope()
        self._lineages = {BASE: self._lineage(pair)}
        self._lineage_of: dict[int, str] = {}
        self._named = 0
        self.splits: list[SplitOutcome] = []

    def version_for(self, device: Device | None) -> Version:
        return self._lineages[BASE if device is None else self.lineage_of(device)].version

    def lineage_of(self, device: Device) -> str:
        """The name of the device's group; blank for none."""
        return self._lineage_of.get(device.number, BASE)

    def merge(self, deliveries: Sequence[DeliveredUpdate]) -> MergeResult:
        data = self._world.drawn.cloud
        ordered = sorted(deliveries, key=lambda one: one.device.number)
        outputs = np.stack([self._probabilities(one, data) for one in ordered])
        accuracies = [_accuracy(output, data) for output in outputs]
        kept = self._merge.retained_models(accuracies)
        if not kept:
            return MergeResult(fault=NoSoundModel(models=len(deliveries)))
        sound = [index for index, accuracy in enumerate(accuracies) if not math.isnan(accuracy)]
        names = self._group(ordered, outputs, sound)
        seed = self._world.seed_of("merge", len(self.splits))
        self._renew(BASE, mean_output(outputs, kept), seed)
        for name in dict.fromkeys(name for name in names.values() if name != BASE):
            members = [index for index in sound if names[index] == name]
            chosen = [members[place] for place in self._merge.retained_models([accuracies[index] for index in members])]
            self._renew(name, mean_output(outputs, chosen), seed)
        return MergeResult()  # updates are not summed

    def is_resting(self, device: Device) -> bool:  # noqa: ARG002 - no noise on sums, where there are none
        return False

    def _probabilities(self, delivery: DeliveredUpdate, data: Dataset) -> Float32:
        """Probabilities [n, classes] of a device's model; 0 for classes that it does not have."""
        graphs = self._learner.graphs
        base = delivery.base.learner.parameters
        read = read_update(self._plan, graphs.spec, delivery.payload, delivery.seen)
        learned = {name: base[name] + part for name, part in read.difference.items()}
        parameters = {**learned, **read.statistics}
        if self._scope.head == "seen":
            parameters = dict(mask_unseen(parameters, output_layer(graphs.spec), delivery.seen))
        with np.errstate(all="ignore"):
            found: Float32 = np.exp(log_softmax(predict_logits(graphs.predict, parameters, data))).astype(np.float32)
        return found

    def _group(self, deliveries: Sequence[DeliveredUpdate], outputs: Float32, sound: Sequence[int]) -> dict[int, str]:
        """The lineage of each valid model; devices are assigned to it."""
        grouping = self._groups.split(outputs[list(sound)])
        former = [self._lineage_of.get(deliveries[index].device.number, BASE) for index in sound]
        names: tuple[str, ...] = (BASE,)
        if len(grouping.exemplars) > 1:
            names = name_groups(grouping.labels, former, named=self._named)
            self._named = max(self._named, *(int(name.rpartition("-")[2]) for name in names))
        found = {index: names[label] for index, label in zip(sound, grouping.labels, strict=True)}
        for index, name in found.items():
            self._lineage_of[deliveries[index].device.number] = name
        self.splits.append(
            SplitOutcome(
                time_s=self._world.clock.now_s,
                groups={deliveries[index].device.name: grouping.labels[place] for place, index in enumerate(sound)},
                silhouettes={str(count): value for count, value in grouping.silhouettes.items()},
                reason=grouping.reason,
            )
        )
        return found

    def _renew(self, name: str, wanted: Float32, seed: int) -> None:
        """The lineage's next models, from the current ones; a new group starts from the base's."""
        data, merge = self._world.drawn.cloud, self._merge
        lineage = self._lineages.get(name, self._lineages[BASE])
        state = self._model.update(lineage.cloud, data, wanted, merge, seed=seed)
        how = Compression.of(merge, seed=seed)
        self._lineages[name] = self._lineage(
            Pair(state, self._model.compress(state, lineage.version.learner, data, how))
        )

    def _lineage(self, pair: Pair) -> _Lineage:
        learner = self._learner.beginning_with(pair.device)
        return _Lineage(pair.cloud, Version(learner, CloudTeacher(self._model, pair.cloud)))


def _accuracy(output: Float32, data: Dataset) -> float:
    """NaN for a model whose output is not finite."""
    if not np.isfinite(output).all():
        return math.nan
    return float((output.argmax(axis=1) == data.labels).mean())
