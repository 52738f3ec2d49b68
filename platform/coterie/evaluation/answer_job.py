"""Job: a model's answers to a few samples that a device has sent; NumPy and onnxruntime, never PyTorch."""

import msgspec

from coterie.child.files import ReadPath
from coterie.child.job import ChildJob, Limits
from coterie.core.errors import CoterieError, ErrorKind
from coterie_wire.bundle import ModelSpec
from coterie_wire.fallback import SampleBytes
from coterie_wire.predictions import Output, Prediction

LIMITS = Limits(wall_s=10, cpu_s=20, memory_bytes=512 << 20, file_bytes=1 << 20, confined=True)
LARGEST_BYTES = 64 << 20
"""Of a graph and its parameters together: a child reads them for each request."""


class AnswerNotFinite(CoterieError):
    """The model gives numbers that are not finite for the samples."""

    code = "cloud_answers.not_finite"
    kind = ErrorKind.INVALID
    sentence = "The model on the platform has no answer in numbers for these samples."


class AnswerArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths are absolute."""

    model: ModelSpec
    """Specifies the samples that the graph takes, and its output."""
    labels: tuple[str, ...]
    graph: ReadPath
    """``predict.onnx`` of the device model or of the teacher."""
    parameters: ReadPath
    samples: tuple[SampleBytes, ...]
    """float32, flattened in the order of the model's inputs; as many numbers as the model takes."""
    frozen: ReadPath | None = None
    """The pair's frozen tensors, if the graph takes any."""


class AnswerResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One prediction a sample."""

    predictions: tuple[Prediction | Output, ...]


JOB = ChildJob(
    module=__name__,
    work="coterie.evaluation.answering:answer_samples",
    arguments=AnswerArguments,
    result=AnswerResult,
    errors=(AnswerNotFinite,),
)
