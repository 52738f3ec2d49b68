"""Job: merge the updates of a round into new parameters, and measure them; NumPy and onnxruntime, never PyTorch."""

import msgspec

from coterie.child.job import ChildJob
from coterie.core.errors import CoterieError, ErrorKind
from coterie.evaluation.datasets import MalformedDataset
from coterie_learning.plan import Document
from coterie_wire.bundle import BlobRef, ModelSpec, Sha256


class UpdateChanged(CoterieError):
    """Fields: sha256 (which it should have), detail."""

    code = "merge.update_changed"
    kind = ErrorKind.UNAVAILABLE
    sentence = "Stored update {sha256} cannot be read as it was accepted: {detail}."


class NotFinite(CoterieError):
    """Fields: tensor."""

    code = "merge.not_finite"
    kind = ErrorKind.INVALID
    sentence = "The merged parameters hold a number that is not finite, in tensor {tensor}."


class StoredUpdate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An accepted update's file."""

    path: str
    sha256: Sha256
    samples: int
    classes: tuple[int, ...] = ()
    """Those whose rows of the output layer it holds, where the plan customises it."""


class HeldOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths of what measuring a model takes."""

    predict: str
    """The pair's ``predict.onnx``."""
    dataset: str
    """NPZ with x and y."""
    frozen: str | None = None
    """The pair's frozen tensors, if it has any."""


class MergeArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Kinds are given as a plan writes them."""

    model: ModelSpec
    base: str
    """Path of the parameters that the round began with."""
    local: Document
    merge: Document
    codec: Document
    updates: tuple[StoredUpdate, ...]
    output: str
    """Path to write the new parameters to."""
    held_out: HeldOut | None = None


class Quality(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model on held-out samples."""

    accuracy: float | None
    """None where the task has no right and wrong."""
    loss: float
    class_accuracy: tuple[float | None, ...] = ()
    """Of a classifier, over the samples of each class; None where there are none."""


class MergeResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`base` and `candidate` are measured on the held-out data, None without."""

    parameters: BlobRef
    updates: int
    samples: int
    base: Quality | None
    candidate: Quality | None


JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.averaging:merge_stored",
    arguments=MergeArguments,
    result=MergeResult,
    errors=(UpdateChanged, NotFinite, MalformedDataset),
)
