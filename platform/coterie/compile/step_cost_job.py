"""Job: run a train step as a device does, in a process without PyTorch, and measure its cost."""

import msgspec

from coterie.child.files import ReadPath
from coterie.child.job import ChildJob
from coterie_wire.bundle import ModelSpec


class MeasureArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths are absolute; the files are those of a pre-flight."""

    model: ModelSpec
    train_step: ReadPath
    parameters: ReadPath
    frozen: ReadPath | None
    ranges: dict[str, tuple[int, int]] = {}
    """The range of integer inputs and targets, where that is known."""


class MeasureResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cost of a train step."""

    step_s: float
    """Median time of one step on one thread, in seconds."""
    step_memory_bytes: int
    """How much the process grew: graph, parameters, and all that a step holds at a time."""
    process_memory_bytes: int
    """Peak memory of the process: Python, NumPy and onnxruntime as well, as on a device."""


JOB = ChildJob(
    module=__name__,
    work="coterie.compile.step_cost:measure_stored",
    arguments=MeasureArguments,
    result=MeasureResult,
)
