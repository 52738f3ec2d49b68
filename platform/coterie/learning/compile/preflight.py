"""The work of job `preflight`: load, compile, train a step, save and restore, predict."""

import resource
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch.export import ExportedProgram

from coterie.learning.child.job import Progress, ReportProgress
from coterie.learning.cloud.trial import try_cloud
from coterie.learning.compile.compiled import CompiledModel, compile_model, compile_prediction
from coterie.learning.compile.errors import ERRORS, NotTrainable
from coterie.learning.compile.signature import Signature
from coterie.learning.compile.upload import load_upload
from coterie.learning.datasets import Dataset
from coterie.learning.device_steps import Batch, DeviceSteps
from coterie.learning.evaluate import open_session, predict_logits
from coterie.learning.jobs.preflight import (
    LabelsMismatch,
    PairMismatch,
    PreflightArguments,
    PreflightResult,
    TeacherGraph,
)
from coterie.learning.recipe import parse_recipe
from coterie.learning.recipe.loss import Loss
from coterie_wire.bundle import BlobRef, ModelSpec, TensorSpec
from coterie_wire.codec import Tensors
from coterie_wire.local import StepWeights
from coterie_wire.tensors import decode_tensors, encode_tensors

STAGES = ("loading", "compiling", "training", "cloud model")
TIMED_STEPS = 5


def preflight_stored(arguments: PreflightArguments, report: ReportProgress) -> PreflightResult:
    """Compile and try the uploaded models, and write what devices need.

    Raises LabelsMismatch, PairMismatch or the errors of `coterie.learning.compile.errors`.
    """
    _report(report, 0)
    program = load_upload(Path(arguments.device))
    _report(report, 1)
    recipe = parse_recipe(arguments.recipe)
    compiled = compile_model(program, recipe, batch_size=arguments.batch_size)
    model = compiled.spec
    named = model.output.shape[0] if model.task in ("classes", "labels") else 0
    if len(arguments.labels) != named:
        raise LabelsMismatch(labels=len(arguments.labels), classes=named)
    _report(report, 2)
    step_s = try_training(compiled)
    _report(report, 3)
    cloud = load_upload(Path(arguments.cloud)) if arguments.cloud else None
    cloud_parameters = None if cloud is None else _try_cloud(cloud, model, recipe.loss)
    teacher, problem = _teacher(cloud, recipe.loss, arguments.teacher) if cloud and arguments.teacher else (None, None)
    return PreflightResult(
        model=model,
        train_step=_write(arguments.train_step, compiled.train_step),
        predict=_write(arguments.predict, compiled.predict),
        parameters=_write(arguments.parameters, encode_tensors(compiled.parameters)),
        frozen=_write(arguments.frozen, encode_tensors(compiled.frozen)) if compiled.frozen else None,
        device_parameters=sum(compiled.parameters[spec.name].size for spec in model.parameters),
        cloud_parameters=cloud_parameters,
        teacher=teacher,
        teacher_problem=problem,
        step_s=step_s,
        peak_memory_bytes=_peak_memory_bytes(),
    )


def try_training(compiled: CompiledModel) -> float:
    """Median seconds of a train step on made-up samples, after a save and restore. Raises NotTrainable."""
    model = compiled.spec
    batch = _made_up(model)
    steps = DeviceSteps(compiled.train_step, model, compiled.frozen)
    weights = _weights(model)
    times = []
    training = steps.begin(compiled.parameters)
    for _ in range(TIMED_STEPS):
        started = time.perf_counter()
        training, loss, _ = steps.step(training, batch, weights, compiled.parameters)
        times.append(time.perf_counter() - started)
        if not np.isfinite(loss) or not _finite(training.parameters):
            raise NotTrainable(detail="a step gives numbers that are not finite")
    if all(np.array_equal(training.parameters[name], tensor) for name, tensor in compiled.parameters.items()):
        raise NotTrainable(detail="a step changes no parameter")
    restored = decode_tensors(encode_tensors(training.parameters), expected=model.version)
    again_parameters = {name: tensor.astype(np.float32) for name, tensor in restored.items()}
    session = open_session(compiled.predict)
    logits, again = (
        predict_logits(session, tensors, batch.dataset, compiled.frozen)
        for tensors in (training.parameters, again_parameters)
    )
    if not np.isfinite(logits).all() or not np.array_equal(logits, again):
        raise NotTrainable(detail="restored parameters do not predict what the saved ones did")
    return statistics.median(times)


def _made_up(model: ModelSpec) -> Batch:
    """Noise for numbers, zeros for whole numbers, which every vocabulary has; and a teacher without opinion."""
    generator = np.random.default_rng(0)

    def samples(spec: TensorSpec) -> NDArray[np.float32] | NDArray[np.int64]:
        shape = (model.batch_size, *spec.shape)
        return np.zeros(shape, np.int64) if spec.dtype == "int64" else generator.random(shape, np.float32)

    targets = (np.arange(model.batch_size) % model.classes).astype(np.int64) if model.classes else samples(model.target)
    teacher = np.full((model.batch_size, *model.output.shape), 1 / model.output.shape[-1], np.float32)
    return Batch(Dataset({spec.name: samples(spec) for spec in model.inputs}, targets), teacher)


def _weights(model: ModelSpec) -> StepWeights:
    """Those of the train step's scalars that a plan sets, each in use."""
    tried = {"momentum": 0.9, "weight_decay": 0.01, "clip_norm": 1.0, "distillation_weight": 0.5}
    return StepWeights(
        learning_rate=0.01,
        proximal_weight=0.01,
        **{name: value for name, value in tried.items() if name in model.scalars},
    )


def _teacher(program: ExportedProgram, loss: Loss, output: str) -> tuple[TeacherGraph | None, str | None]:
    """A cloud model of which no graph can be made is a good cloud model still."""
    if loss.task != "classes":
        return None, f"devices learn from a cloud model that tells classes apart, not {loss.task}"
    try:
        compiled = compile_prediction(program, loss)
    except ERRORS as error:
        return None, str(error)
    return TeacherGraph(compiled.parameters, _write(output, compiled.predict)), None


def _try_cloud(program: ExportedProgram, model: ModelSpec, loss: Loss) -> int:
    cloud = try_cloud(program, loss)
    device = Signature(model.inputs, model.output, model.target, model.task)
    if str(device) != str(cloud.signature):
        raise PairMismatch(device=str(device), cloud=str(cloud.signature))
    return sum(tensor.numel() for tensor in cloud.parameters.values())


def _finite(tensors: Tensors) -> bool:
    return all(bool(np.isfinite(tensor).all()) for tensor in tensors.values())


def _write(path: str, content: bytes) -> BlobRef:
    Path(path).write_bytes(content)
    return BlobRef.of_bytes(content)


def _report(report: ReportProgress, stage: int) -> None:
    report(Progress(STAGES[stage], stage, len(STAGES)))


def _peak_memory_bytes() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
