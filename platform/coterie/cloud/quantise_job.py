"""Job: an int8 form of a version of a device model, made and measured, or the reason why there is none."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie.child.files import ReadPath, WritePath
from coterie.child.job import ChildJob, Limits
from coterie.core.errors import CoterieError, ErrorKind
from coterie.evaluation.datasets import MalformedDataset
from coterie_wire.bundle import BlobRef, ModelSpec
from coterie_wire.conditions import Reason

LIMITS = Limits(wall_s=1800, cpu_s=3600, memory_bytes=4 << 30, confined=True)
FEWEST_SAMPLES = 100
"""Of the data set, a quarter of which, at most 200, calibrates and the rest is for measuring."""
Method = Literal["static_minmax", "static_percentile", "static_convolutions", "dynamic"]
"""``static_*``: weights and activations in int8 (QDQ), whose ranges come from calibration: the least and greatest
values, or all but outliers; or convolutions alone, with a scale for each channel. ``dynamic``: weights in int8, the
ranges of activations are found at each run."""


class TooFewSamples(CoterieError):
    """Fields: samples, fewest."""

    code = "quantise.too_few_samples"
    kind = ErrorKind.INVALID
    sentence = "The data set has {samples} samples; calibration and an honest measurement take {fewest} or more."


class QuantiseArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths are absolute."""

    model: ModelSpec
    predict: ReadPath
    """``predict.onnx``."""
    parameters: ReadPath
    """Parameter file of the version."""
    dataset: ReadPath
    """NPZ of held-out samples."""
    output: WritePath
    """Where to write the quantised graph, which holds its parameters."""
    frozen: ReadPath | None = None
    """The pair's frozen tensors, if it has any."""
    max_loss_points: Annotated[float, Meta(ge=0, le=100)] = 1.0
    """Percentage points of accuracy that it may lose; of a model without accuracy, percent by which its loss grows."""


class FormFigures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A form of a model on this machine, one thread, samples that it was not calibrated with."""

    size_bytes: int
    """Size of what a device needs of it to predict."""
    accuracy: float | None
    """None where the task has no correct class."""
    loss: float
    p50_us: float
    """Of one run on one sample, in microseconds."""
    p90_us: float
    p99_us: float


class TriedForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A method of quantisation and its result."""

    method: Method
    measured: FormFigures | None
    """None where it does not run."""
    loss_points: float | None
    refused: Reason | None
    """None where it can be offered."""


class QuantiseResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The figures, and the form that is offered, if one is."""

    samples: int
    """Samples that it was measured on."""
    calibration: int
    """Other samples that it was calibrated with."""
    float32: FormFigures
    tried: tuple[TriedForm, ...]
    offered: Method | None
    """The smallest of the fastest acceptable ones; None: there is none."""
    graph: BlobRef | None
    refused: Reason | None
    """Why none is offered."""


JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.quantise:quantise_stored",
    arguments=QuantiseArguments,
    result=QuantiseResult,
    errors=(MalformedDataset, TooFewSamples),
)
