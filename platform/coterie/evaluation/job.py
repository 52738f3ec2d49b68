"""Job: measure a device model on held-out samples; NumPy and onnxruntime, never PyTorch."""

import msgspec

from coterie.child.job import ChildJob
from coterie.evaluation.confusion import Confusion
from coterie.evaluation.datasets import MalformedDataset
from coterie_wire.bundle import ModelSpec


class EvaluateArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths are absolute."""

    model: ModelSpec
    predict: str
    """``predict.onnx``."""
    parameters: str
    """Parameter file of the version to measure."""
    dataset: str
    """NPZ with x and y."""
    frozen: str | None = None
    """The pair's frozen tensors, if it has any."""


class EvaluateResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An `Evaluation`."""

    samples: int
    accuracy: float | None
    loss: float
    class_accuracy: tuple[float | None, ...]
    confusion: Confusion | None = None


JOB = ChildJob(
    module=__name__,
    work="coterie.evaluation.stored:evaluate_stored",
    arguments=EvaluateArguments,
    result=EvaluateResult,
    errors=(MalformedDataset,),
)
