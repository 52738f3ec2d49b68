"""The work of job `measure`: a few train steps on synthetic samples; NumPy and onnxruntime only."""

import statistics
import time
from pathlib import Path

import numpy as np

from coterie.child.job import ReportProgress
from coterie.child.memory import peak_memory_bytes
from coterie.compile.step_cost_job import MeasureArguments, MeasureResult
from coterie.compile.synthetic import synthetic_batch, synthetic_scalars
from coterie.evaluation.scoring import read_frozen
from coterie.evaluation.train_step import DeviceSteps
from coterie_wire.tensors import decode_tensors

TIMED_STEPS = 5


def measure_stored(arguments: MeasureArguments, _report: ReportProgress) -> MeasureResult:
    """Train for `TIMED_STEPS` after a first one, which allocates memory."""
    before_bytes = peak_memory_bytes()
    model = arguments.model
    tensors = decode_tensors(Path(arguments.parameters).read_bytes(), expected=model.version)
    parameters = {name: tensor.astype(np.float32, copy=False) for name, tensor in tensors.items()}
    frozen = read_frozen(arguments.frozen, model)
    steps = DeviceSteps(Path(arguments.train_step).read_bytes(), model, frozen)
    batch, weights, training = (
        synthetic_batch(model, arguments.ranges),
        synthetic_scalars(model),
        steps.begin(parameters),
    )
    times = []
    for _ in range(1 + TIMED_STEPS):
        started = time.perf_counter()
        training = steps.step(training, batch, weights, parameters).training
        times.append(time.perf_counter() - started)
    peak_bytes = peak_memory_bytes()
    return MeasureResult(statistics.median(times[1:]), peak_bytes - before_bytes, peak_bytes)
