"""The work of job `preflight`: load, compile, train a step, save and restore, predict, measure."""

from pathlib import Path

import numpy as np
from msgspec import UNSET
from torch.export import ExportedProgram

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.preflight_job import (
    LabelsMismatch,
    PairMismatch,
    PreflightArguments,
    PreflightResult,
    TeacherGraph,
)
from coterie.cloud.reporting import report_pair
from coterie.cloud.trial import try_cloud
from coterie.compile.compiled import CompiledModel, compile_model, compile_prediction
from coterie.compile.errors import ERRORS, NotTrainable, PaddingCounts
from coterie.compile.loss_program import Criterion, criterion
from coterie.compile.made_up import made_up_batch, made_up_weights
from coterie.compile.recipe import parse_recipe
from coterie.compile.signature import Signature
from coterie.compile.upload import load_upload
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import open_session, predict_logits
from coterie.evaluation.train_step import DeviceSteps
from coterie_wire.bundle import BlobRef, ModelSpec
from coterie_wire.contract import at_length, filler
from coterie_wire.tensors import Array, Tensors, decode_tensors, encode_tensors

STAGES = ("loading", "compiling", "training", "cloud model", "measuring")
TRIED_STEPS = 3


def preflight_stored(arguments: PreflightArguments, report: ReportProgress) -> PreflightResult:
    """Compile and try the uploaded models, and write what devices need.

    Raises LabelsMismatch, PairMismatch, the errors of `coterie.compile.errors`, or those of a child process.
    """
    _report(report, 0)
    program = load_upload(Path(arguments.device))
    _report(report, 1)
    recipe = parse_recipe(arguments.recipe)
    loss_program = None if arguments.loss is None else load_upload(Path(arguments.loss))
    compiled = compile_model(program, recipe, batch_size=arguments.batch_size, loss_program=loss_program)
    model = compiled.spec
    _check_labels(arguments.labels, model)
    _report(report, 2)
    try_training(compiled)
    train_step = _write(arguments.train_step, compiled.train_step)
    predict = _write(arguments.predict, compiled.predict)
    parameters = _write(arguments.parameters, encode_tensors(compiled.parameters))
    frozen = _write(arguments.frozen, encode_tensors(compiled.frozen)) if compiled.frozen else None
    _report(report, 3)
    cloud = load_upload(Path(arguments.cloud)) if arguments.cloud else None
    loss = criterion(recipe.loss, loss_program)
    cloud_parameters = None if cloud is None else _try_cloud(cloud, model, loss)
    teacher, problem = _teacher(cloud, loss, arguments.teacher) if cloud and arguments.teacher else (None, None)
    _report(report, 4)
    return PreflightResult(
        model=model,
        train_step=train_step,
        predict=predict,
        parameters=parameters,
        frozen=frozen,
        teacher=teacher,
        report=report_pair(arguments, compiled, cloud_parameters=cloud_parameters, teacher_problem=problem),
    )


def try_training(compiled: CompiledModel) -> None:
    """Train on made-up samples, save and restore. Raises NotTrainable or PaddingCounts."""
    model = compiled.spec
    batch, weights = made_up_batch(model), made_up_weights(model)
    others = [] if model.length is UNSET else [made_up_batch(at_length(model, model.length.shortest))]
    steps = DeviceSteps(compiled.train_step, model, compiled.frozen)
    training = steps.begin(compiled.parameters)
    for tried in (*others, *[batch] * TRIED_STEPS):
        training, loss, _ = steps.step(training, tried, weights, compiled.parameters)
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
    if model.length is not UNSET:
        try_lengths(compiled)


def try_lengths(compiled: CompiledModel) -> None:
    """What is said of a short sample is the same when it is filled up to a long one. Raises PaddingCounts."""
    model, session = compiled.spec, open_session(compiled.predict)
    assert model.length is not UNSET, "only models with lengths are asked"
    short = made_up_batch(at_length(model, model.length.shortest), whole=0 if model.padding else 1).dataset
    filled = {
        spec.name: _filled(short.inputs[spec.name], (model.batch_size, *spec.shape), filler(spec, model))
        for spec in model.inputs
    }
    said, again = (
        predict_logits(session, compiled.parameters, Dataset(inputs, short.labels), compiled.frozen)
        for inputs in (short.inputs, filled)
    )
    if not np.allclose(said, again[tuple(map(slice, said.shape))], rtol=1e-3, atol=1e-4):
        raise PaddingCounts(padding=model.padding or 0)


def _filled(array: Array, shape: tuple[int, ...], number: int) -> Array:
    """As devices fill samples up."""
    whole: Array = np.full(shape, number, array.dtype)
    whole[tuple(map(slice, array.shape))] = array
    return whole


def _check_labels(labels: tuple[str, ...] | None, model: ModelSpec) -> None:
    named = model.output.shape[0] if model.task in ("classes", "labels") else 0
    if labels is not None and len(labels) != named:
        raise LabelsMismatch(labels=len(labels), classes=named)


def _teacher(program: ExportedProgram, loss: Criterion, output: str) -> tuple[TeacherGraph | None, str | None]:
    """A cloud model of which no graph can be made is a good cloud model still."""
    if loss.task != "classes":
        return None, f"devices learn from a cloud model that tells classes apart, not {loss.task}"
    try:
        compiled = compile_prediction(program, loss)
    except ERRORS as error:
        return None, str(error)
    return TeacherGraph(compiled.parameters, _write(output, compiled.predict)), None


def _try_cloud(program: ExportedProgram, model: ModelSpec, loss: Criterion) -> int:
    cloud = try_cloud(program, loss)
    device = Signature(model.inputs, model.output, model.target, model.task, model.length or None)
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
