"""Job: train cloud models on the outputs of devices' models, and make new device models (Colla, stage 4)."""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie.child.files import ReadPath, WritePath
from coterie.child.job import ChildJob
from coterie.cloud.averaging_job import StoredUpdate, UpdateChanged
from coterie.cloud.errors import Diverged
from coterie.cloud.pace import CHECKPOINT_S
from coterie.compile.errors import ERRORS
from coterie.core.errors import CoterieError, ErrorKind
from coterie.evaluation.confusion import Confusion
from coterie.evaluation.datasets import MalformedDataset
from coterie_learning.plan import Document
from coterie_wire.bundle import BlobRef, ModelSpec

BASE = ""
"""The lineage of models that serves devices without a group."""


class NoSoundModel(CoterieError):
    """Fields: models."""

    code = "merge.no_sound_model"
    kind = ErrorKind.INVALID
    sentence = "None of the {models} devices' models gives finite outputs on the cloud data."


class Lineage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The models of one group, or of all: paths of the parameters in use."""

    name: str
    cloud: ReadPath
    device: ReadPath


class TrainedModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One device's model, as an update of the version it received."""

    update: StoredUpdate
    base: ReadPath
    """Path of the parameters from which the update is a difference."""
    lineage: str
    """The group that the device belongs to."""


class DistillMergeArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Kinds are given as a plan writes them; paths are absolute."""

    model: ModelSpec
    train_step: ReadPath
    predict: ReadPath
    cloud: ReadPath
    """The cloud model, a file of ``torch.export.save``."""
    dataset: ReadPath
    """The cloud data: NPZ with x and y."""
    held_out: ReadPath | None
    """The data that candidates are evaluated on: NPZ with x and y."""
    lineages: tuple[Lineage, ...]
    """The base and every group."""
    groups_named: int
    """How many groups have ever had a name."""
    models: tuple[TrainedModel, ...]
    local: Document
    codec: Document
    merge: Document
    groups: Document
    checkpoints: WritePath
    """A directory that outlives the job: another job with the same directory resumes this one."""
    frozen: ReadPath | None
    """The pair's frozen tensors, if it has any."""
    output: WritePath
    """A directory to write the new parameters to: ``LINE.cloud`` and ``LINE.device``."""
    seed: int
    checkpoint_s: Annotated[float, Meta(ge=0)] = CHECKPOINT_S
    """Seconds after which a checkpoint is written within an epoch; 0: after each step."""


class UsedModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one device's model was used."""

    accuracy: float | None
    """On the cloud data; None: its outputs are not finite."""
    lineage: str
    """The group that it belongs to now."""
    kept: bool
    """Whether the base learned from it."""


class Quality(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A classifier on held-out samples."""

    accuracy: float
    loss: float
    class_accuracy: tuple[float | None, ...] = ()
    """Over the samples of each class; None where there are none."""
    confusion: Confusion | None = None
    """Of a classifier."""


class NewLineage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The candidates of one lineage, compared with those in use; qualities are None without held-out data."""

    name: str
    cloud: BlobRef
    device: BlobRef
    models: int
    """How many devices' models it was made from."""
    cloud_epochs: int
    device_epochs: int
    cloud_before: Quality | None
    cloud_after: Quality | None
    device_before: Quality | None
    device_after: Quality | None
    cross_entropy_gap_before: float
    cross_entropy_gap_after: float
    """Cross entropy of the members' mean output and the device model's, on the validation part of the cloud data,
    in nats.
    """


class DistillMergeResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Judgements are in the order of the models."""

    judged: tuple[UsedModel, ...]
    lineages: tuple[NewLineage, ...]
    """The base first."""
    silhouettes: dict[str, float]
    """By number of groups."""
    distances: dict[str, dict[str, float]]
    """By the names of two groups, the mean distance between their models, in nats; empty: there is one group."""
    reason: str
    """The reason for this number of groups."""


JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.stage_four:merge_by_distillation",
    arguments=DistillMergeArguments,
    result=DistillMergeResult,
    errors=(MalformedDataset, UpdateChanged, NoSoundModel, Diverged, *ERRORS),
)
