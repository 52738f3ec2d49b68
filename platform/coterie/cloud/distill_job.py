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
    """The program of the recipe's loss, where it has one of its own."""
    output: WritePath
    """Where to write the device model's parameters."""
    epochs: Annotated[int, Meta(ge=1, le=10_000)] = 100
    learning_rate: Annotated[float, Meta(gt=0, le=10)] = 0.05
    """A smaller one is taken where the loss does not stay finite under it."""
    momentum: Annotated[float, Meta(ge=0, lt=1)] = 0.9
    label_weight: Annotated[float, Meta(ge=0, le=1)] = 0.5
    """Colla's λ: weight of the labels; the rest is the teacher's."""
    validation_share: Annotated[float, Meta(ge=0, lt=1)] = 0.1
    """Share of the samples that is held back, to judge each epoch."""
    patience: Annotated[int, Meta(ge=1, le=10_000)] = 30
    """Epochs without improvement after which it stops."""
    seed: Annotated[int, Meta(ge=0, le=2**53)] = 0
    checkpoints: WritePath | None = None
    """The directory of this training's checkpoints, which it goes on from; None: it keeps none."""
    checkpoint_s: Annotated[float, Meta(ge=0)] = CHECKPOINT_S
    """Seconds after which an epoch that goes on is saved in between; 0: after each step."""


class DistillResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Accuracy and loss are those of the samples held back."""

    parameters: BlobRef
    epochs: int
    """How many were run."""
    validation_accuracy: float | None
    validation_loss: float
    class_accuracy: tuple[float | None, ...]
    """Of a classifier, over the samples of each class that were held back; None where there are none."""
    teacher_accuracy: float | None
    """Of the cloud model on all samples."""
    learning_rate: float
    """The step size that was taken: the one that was asked for, or a share of it."""
    confusion: Confusion | None = None
    """Of a classifier, on the samples that were held back."""


JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.distill:distill_stored",
    arguments=DistillArguments,
    result=DistillResult,
    errors=(MalformedDataset, Diverged, *ERRORS),
)
