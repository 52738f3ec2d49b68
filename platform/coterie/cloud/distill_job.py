"""Job: make the first device model from the cloud model (Colla, stage 2)."""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie.child.files import ReadPath, WritePath
from coterie.child.job import ChildJob
from coterie.cloud.errors import Diverged
from coterie.cloud.pace import CHECKPOINT_S
from coterie.compile.errors import ERRORS
from coterie.evaluation.confusion import Confusion
from coterie.evaluation.datasets import MalformedDataset
from coterie_learning.plan import Document
from coterie_wire.bundle import BlobRef, ModelSpec


class DistillArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths are absolute."""

    model: ModelSpec
    train_step: ReadPath
    predict: ReadPath
    parameters: ReadPath
    """The device model's initial parameters."""
    cloud: ReadPath
    """The cloud model, a file of ``torch.export.save``."""
    cloud_parameters: ReadPath
    """Its trained parameters."""
    dataset: ReadPath
    """NPZ with x and y."""
    frozen: ReadPath | None
    """The pair's frozen tensors, if it has any."""
    recipe: Document
    """How the pair is trained, as `coterie.compile.recipe` writes it."""
    loss: ReadPath | None
    """The program of the recipe's loss, where that is `custom`."""
    output: WritePath
    """Where to write the device model's parameters."""
    epochs: Annotated[int, Meta(ge=1, le=10_000)] = 100
    learning_rate: Annotated[float, Meta(gt=0, le=10)] = 0.05
    """A smaller one is used where the loss does not stay finite."""
    momentum: Annotated[float, Meta(ge=0, lt=1)] = 0.9
    label_weight: Annotated[float, Meta(ge=0, le=1)] = 0.5
    """Colla's λ: weight of the labels; the rest is the teacher's."""
    validation_share: Annotated[float, Meta(ge=0, lt=1)] = 0.1
    """Share of the samples used for validation."""
    patience: Annotated[int, Meta(ge=1, le=10_000)] = 30
    """Epochs without improvement after which training stops (early stopping)."""
    seed: Annotated[int, Meta(ge=0, le=2**53)] = 0
    checkpoints: WritePath | None = None
    """The directory of this training's checkpoints, from which it resumes; None: no checkpoints."""
    checkpoint_s: Annotated[float, Meta(ge=0)] = CHECKPOINT_S
    """Seconds after which a checkpoint is written within an epoch; 0: after each step."""


class DistillResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Accuracy and loss are those of the validation samples."""

    parameters: BlobRef
    epochs: int
    """How many epochs were run."""
    validation_accuracy: float | None
    validation_loss: float
    class_accuracy: tuple[float | None, ...]
    """Of a classifier, for each class; None where a class has no validation samples."""
    teacher_accuracy: float | None
    """Of the cloud model on all samples."""
    learning_rate: float
    """The learning rate that was used: the requested one, or a share of it."""
    confusion: Confusion | None = None
    """Of a classifier, on the validation samples."""


JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.distill:distill_stored",
    arguments=DistillArguments,
    result=DistillResult,
    errors=(MalformedDataset, Diverged, *ERRORS),
)
