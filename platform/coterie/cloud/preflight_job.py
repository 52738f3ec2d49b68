"""Job: compile an uploaded pair and try it before it is accepted."""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie.child.errors import Crashed, OutOfMemory, OutOfTime
from coterie.child.files import ReadPath, WritePath
from coterie.child.job import ChildJob, Limits
from coterie.compile.errors import ERRORS
from coterie.compile.pair_report import PairReport
from coterie.core.errors import CoterieError, ErrorKind
from coterie_learning.plan import Document
from coterie_wire.bundle import BlobRef, ModelSpec, TensorSpec

LIMITS = Limits(wall_s=180, cpu_s=180, memory_bytes=4 << 30, confined=True)
"""An upload is untrusted: it gets no network and little time."""


class LabelsMismatch(CoterieError):
    """Fields: labels, classes."""

    code = "compile.labels_mismatch"
    kind = ErrorKind.INVALID
    sentence = "There are {labels} labels for a model with {classes} classes."


class PairMismatch(CoterieError):
    """Fields: device, cloud (the inputs and outputs of each)."""

    code = "compile.pair_mismatch"
    kind = ErrorKind.INVALID
    sentence = "The models do not fit together: the device model maps {device}, the cloud model {cloud}."


class PreflightArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths are absolute."""

    device: ReadPath
    """The device model, a file of ``torch.export.save``."""
    batch_size: Annotated[int, Meta(ge=1, le=4096)]
    labels: tuple[str, ...] | None
    """Names of the classes; None where a model is only tried."""
    train_step: WritePath
    """Where to write ``train_step.onnx``."""
    predict: WritePath
    """Where to write ``predict.onnx``."""
    parameters: WritePath
    """Where to write the device model's initial parameters."""
    frozen: WritePath
    """Where to write the tensors that the recipe freezes, if any."""
    recipe: Document = {}
    """A `coterie.compile.recipe.Recipe`; omitted fields have their defaults."""
    loss: ReadPath | None = None
    """The program of the recipe's loss, a file of ``torch.export.save``, where the loss is `custom`."""
    cloud: ReadPath | None = None
    """The cloud model, a file of ``torch.export.save``."""
    teacher: WritePath | None = None
    """Where to write the cloud model's ``predict.onnx``, for devices that learn from it."""
    cloud_parameters: WritePath | None = None
    """Where to write the cloud model's parameters as they were uploaded."""


class TeacherGraph(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cloud model's prediction graph: it takes the inputs of the device model and these parameters."""

    parameters: tuple[TensorSpec, ...]
    predict: BlobRef


class PreflightResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The compiled model, its files, and the figures of its trial."""

    model: ModelSpec
    train_step: BlobRef
    predict: BlobRef
    parameters: BlobRef
    frozen: BlobRef | None
    """The tensors that the recipe freezes; None where it freezes none."""
    teacher: TeacherGraph | None
    """None where the cloud model cannot be compiled; devices cannot learn from it then."""
    report: PairReport
    cloud_parameters: BlobRef | None = None
    """The cloud model's parameters as uploaded; None where they were not requested."""


JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.admission:preflight_admitted",
    arguments=PreflightArguments,
    result=PreflightResult,
    errors=(LabelsMismatch, PairMismatch, *ERRORS, Crashed, OutOfMemory, OutOfTime),
)
