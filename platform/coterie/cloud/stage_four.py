"""The work of job `distill_merge`: Colla's stage 4 for the base model and for every group's (Lu et al. 2019, SEC).

Models are grouped before the worst are dropped: all those of a behaviour that is rare in the cloud data would be worst.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.averaging import read_parameters
from coterie.cloud.cloud_update import update_cloud
from coterie.cloud.compression import Compression, Student, compress
from coterie.cloud.device_outputs import Outputs, compute_outputs
from coterie.cloud.distill_merge_job import (
    BASE,
    DistillMergeArguments,
    DistillMergeResult,
    Lineage,
    NewLineage,
    NoSoundModel,
    Quality,
    UsedModel,
)
from coterie.cloud.epochs import split
from coterie.cloud.program import CloudProgram
from coterie.cloud.saved_epochs import Checkpoints
from coterie.compile.upload import load_upload
from coterie.evaluation.datasets import Dataset, read_model_dataset
from coterie.evaluation.scoring import open_session, predict_logits, read_frozen, score
from coterie_learning.grouping.matching import name_groups
from coterie_learning.groups import Grouping
from coterie_learning.merge.distill import DistillMerge, mean_output
from coterie_learning.metrics import log_softmax
from coterie_learning.plan import GROUPS
from coterie_learning.random import derive_seed
from coterie_wire.bundle import BlobRef
from coterie_wire.structs import from_values
from coterie_wire.tensors import Float32, Tensors, decode_tensors

GROUPED_SAMPLES = 2000
"""Samples of the cloud data, at most, on which models are compared: their distances need no more."""


def merge_by_distillation(arguments: DistillMergeArguments, report: ReportProgress) -> DistillMergeResult:
    """Group the models, make a new cloud and device model for the base and each group, and measure them.

    The same models in any order give the same bytes, however often the job was killed and resumed with the same
    checkpoints. Raises MalformedDataset, UpdateChanged, NoSoundModel, Diverged, or what `load_upload` raises.
    """
    merge = from_values(arguments.merge, DistillMerge)  # the kind that this function is the job of
    model = arguments.model
    order = sorted(range(len(arguments.models)), key=lambda index: _content(arguments, index))
    models = [arguments.models[index] for index in order]
    dataset = read_model_dataset(Path(arguments.dataset), model)
    outputs = compute_outputs(arguments, models, dataset, report)
    kept = merge.retained_models(outputs.accuracies)
    if not kept:
        raise NoSoundModel(models=len(models))
    sound = [index for index, accuracy in enumerate(outputs.accuracies) if not math.isnan(accuracy)]
    grouping, names = _grouped(arguments, [models[index].lineage for index in sound], outputs, sound)
    lineages = {index: names[label] for index, label in zip(sound, grouping.labels, strict=True)}
    workshop = _Workshop.open(arguments, merge, dataset, report)
    made = [workshop.renew(BASE, mean_output(outputs.probabilities, kept), models=len(kept))]
    for name in dict.fromkeys(name for name in names if name):
        members = [index for index in sound if lineages[index] == name]
        chosen = [members[place] for place in merge.retained_models([outputs.accuracies[index] for index in members])]
        made.append(workshop.renew(name, mean_output(outputs.probabilities, chosen), models=len(chosen)))
    judged = {
        order[index]: UsedModel(
            accuracy=None if math.isnan(accuracy) else accuracy,
            lineage=lineages.get(index, models[index].lineage),
            kept=index in kept,
        )
        for index, accuracy in enumerate(outputs.accuracies)
    }
    return DistillMergeResult(
        judged=tuple(judged[index] for index in range(len(models))),
        lineages=tuple(made),
        silhouettes={str(count): value for count, value in grouping.silhouettes.items()},
        distances=_by_name(grouping, names),
        reason=grouping.reason,
    )


def _content(arguments: DistillMergeArguments, index: int) -> tuple[str, int, str, str]:
    """The sort key of models, which depends on their content only."""
    trained = arguments.models[index]
    return trained.update.sha256, trained.update.samples, Path(trained.base).name, trained.lineage


def _grouped(
    arguments: DistillMergeArguments, former: Sequence[str], outputs: Outputs, sound: Sequence[int]
) -> tuple[Grouping, tuple[str, ...]]:
    """The groups of the sound models, and the name of each; a single group is the base itself."""
    samples = outputs.probabilities.shape[1]
    step = -(-samples // GROUPED_SAMPLES)
    grouping = GROUPS.parse(arguments.groups).split(outputs.probabilities[list(sound), ::step])
    if len(grouping.exemplars) == 1:
        return grouping, (BASE,)
    return grouping, name_groups(grouping.labels, former, named=arguments.groups_named)


def _by_name(grouping: Grouping, names: Sequence[str]) -> dict[str, dict[str, float]]:
    if len(grouping.exemplars) < 2:
        return {}
    return {one: dict(zip(names, row, strict=True)) for one, row in zip(names, grouping.distances, strict=True)}


class _Workshop(NamedTuple):
    """The inputs shared by the new models of every lineage."""

    arguments: DistillMergeArguments
    merge: DistillMerge
    dataset: Dataset
    student: Student
    held_out: Dataset | None
    report: ReportProgress

    @classmethod
    def open(
        cls, arguments: DistillMergeArguments, merge: DistillMerge, dataset: Dataset, report: ReportProgress
    ) -> "_Workshop":
        model = arguments.model
        student = Student(
            model,
            Path(arguments.train_step).read_bytes(),
            Path(arguments.predict).read_bytes(),
            read_frozen(arguments.frozen, model),
        )
        held_out = read_model_dataset(Path(arguments.held_out), model) if arguments.held_out else None
        return cls(arguments, merge, dataset, student, held_out, report)

    def renew(self, name: str, wanted: Float32, *, models: int) -> NewLineage:
        """The lineage's next models, from those in use; a new group starts from the base's."""
        arguments, merge = self.arguments, self.merge
        shown = name or "base"
        lineage = next((lineage for lineage in arguments.lineages if lineage.name == name), self._base())
        seed = derive_seed(arguments.seed, "line", name)
        cloud = CloudProgram(load_upload(Path(arguments.cloud)))
        cloud.load(Path(lineage.cloud).read_bytes())
        cloud_before = self._cloud_quality(cloud)
        taught = update_cloud(
            cloud,
            self.dataset,
            wanted,
            merge,
            checkpoints=self._checkpoints(f"{shown}.cloud"),
            seed=seed,
            report=self._under_stage(f"teaching the cloud model of {shown}"),
        )
        cloud.load(taught.state)
        before = read_parameters(Path(lineage.device), arguments.model)
        compressed = compress(
            self.student,
            before,
            self.dataset,
            cloud.probabilities(self.dataset),
            Compression.of(merge, seed=seed),
            report=self._under_stage(f"making the device model of {shown}"),
            checkpoints=self._checkpoints(f"{shown}.device"),
        )
        after = decode_tensors(compressed.state, expected=arguments.model.version)
        device = {key: tensor.astype(np.float32, copy=False) for key, tensor in after.items()}
        return NewLineage(
            name=name,
            cloud=_written(Path(arguments.output, f"{shown}.cloud"), taught.state),
            device=_written(Path(arguments.output, f"{shown}.device"), compressed.state),
            models=models,
            cloud_epochs=taught.epochs,
            device_epochs=compressed.epochs,
            cloud_before=cloud_before,
            cloud_after=self._cloud_quality(cloud),
            device_before=self._device_quality(before),
            device_after=self._device_quality(device),
            cross_entropy_gap_before=self._cross_entropy_gap(before, wanted, seed),
            cross_entropy_gap_after=self._cross_entropy_gap(device, wanted, seed),
        )

    def _checkpoints(self, name: str) -> Checkpoints:
        return Checkpoints(Path(self.arguments.checkpoints, name), self.arguments.checkpoint_s)

    def _base(self) -> Lineage:
        return next(lineage for lineage in self.arguments.lineages if lineage.name == BASE)

    def _under_stage(self, stage: str) -> ReportProgress:
        return lambda progress: self.report(Progress(stage, progress.done, progress.total, progress.values))

    def _cloud_quality(self, cloud: CloudProgram) -> Quality | None:
        if self.held_out is None:
            return None
        return _quality(cloud.logits(self.held_out).numpy(), self.held_out)

    def _device_quality(self, parameters: Tensors) -> Quality | None:
        if self.held_out is None:
            return None
        session = open_session(self.student.predict)
        return _quality(predict_logits(session, parameters, self.held_out, self.student.frozen), self.held_out)

    def _cross_entropy_gap(self, parameters: Tensors, wanted: Float32, seed: int) -> float:
        rows = split(self.dataset.labels, share=self.merge.validation_share, seed=seed).validation
        session = open_session(self.student.predict)
        logits = predict_logits(session, parameters, self.dataset.take(rows), self.student.frozen)
        return float(-(wanted[rows] * log_softmax(logits)).sum(axis=1).mean())


def _quality(logits: Float32, dataset: Dataset) -> Quality:
    found = score(logits, dataset.labels)
    assert found.accuracy is not None, "classes are right or wrong"
    return Quality(
        accuracy=found.accuracy, loss=found.loss, class_accuracy=found.class_accuracy, confusion=found.confusion
    )


def _written(path: Path, content: bytes) -> BlobRef:
    path.write_bytes(content)
    return BlobRef.of_bytes(content)
