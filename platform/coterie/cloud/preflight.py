"""The work of job `preflight`: load, compile, train a step, save and restore, predict, measure."""

from pathlib import Path

from torch.export import ExportedProgram

from coterie.child.job import Progress, ReportProgress
from coterie.cloud.blocks import find_cuts
from coterie.cloud.preflight_job import (
    LabelsMismatch,
    PairMismatch,
    PreflightArguments,
    PreflightResult,
    TeacherGraph,
)
from coterie.cloud.program import CloudProgram
from coterie.cloud.reporting import report_pair
from coterie.cloud.trial import try_cloud
from coterie.compile.compiled import compile_model, compile_prediction
from coterie.compile.errors import ERRORS
from coterie.compile.loss_program import Criterion, criterion
from coterie.compile.recipe import parse_recipe
from coterie.compile.signature import Signature
from coterie.compile.trial import try_training
from coterie.compile.upload import load_upload
from coterie_wire.bundle import BlobRef, ModelSpec
from coterie_wire.tensors import encode_tensors

STAGES = ("loading", "compiling", "training", "cloud model", "measuring")


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
    try_training(program, compiled)
    train_step = _write(arguments.train_step, compiled.train_step)
    predict = _write(arguments.predict, compiled.predict)
    parameters = _write(arguments.parameters, encode_tensors(compiled.parameters))
    frozen = _write(arguments.frozen, encode_tensors(compiled.frozen)) if compiled.frozen else None
    _report(report, 3)
    cloud = load_upload(Path(arguments.cloud)) if arguments.cloud else None
    loss = criterion(recipe.loss, loss_program)
    tried = None if cloud is None else _try_cloud(cloud, model, loss)
    teacher, problem = _teacher(cloud, loss, arguments.teacher) if cloud and arguments.teacher else (None, None)
    uploaded = None
    if cloud and arguments.cloud_parameters:  # a separate program: the trial has changed its running statistics
        uploaded = _write(arguments.cloud_parameters, CloudProgram(cloud, loss).save())
    _report(report, 4)
    return PreflightResult(
        model=model,
        train_step=train_step,
        predict=predict,
        parameters=parameters,
        frozen=frozen,
        teacher=teacher,
        report=report_pair(
            arguments,
            compiled,
            cloud_parameters=None if tried is None else sum(tensor.numel() for tensor in tried.parameters.values()),
            splits=None if tried is None else find_cuts(tried).splits(),
            teacher_problem=problem,
        ),
        cloud_parameters=uploaded,
    )


def _check_labels(labels: tuple[str, ...] | None, model: ModelSpec) -> None:
    named = model.output.shape[0] if model.task in ("classes", "labels") else 0
    if labels is not None and len(labels) != named:
        raise LabelsMismatch(labels=len(labels), classes=named)


def _teacher(program: ExportedProgram, loss: Criterion, output: str) -> tuple[TeacherGraph | None, str | None]:
    """The cloud model's prediction graph; one that cannot be compiled to a graph is still accepted as a cloud model."""
    if loss.task != "classes":
        return None, f"devices learn from a cloud model that tells classes apart, not {loss.task}"
    try:
        compiled = compile_prediction(program, loss)
    except ERRORS as error:
        return None, str(error)
    return TeacherGraph(compiled.parameters, _write(output, compiled.predict)), None


def _try_cloud(program: ExportedProgram, model: ModelSpec, loss: Criterion) -> CloudProgram:
    cloud = try_cloud(program, loss)
    device = Signature(model.inputs, model.output, model.target, model.task, model.length or None)
    if str(device) != str(cloud.signature):
        raise PairMismatch(device=str(device), cloud=str(cloud.signature))
    return cloud


def _write(path: str, content: bytes) -> BlobRef:
    Path(path).write_bytes(content)
    return BlobRef.of_bytes(content)


def _report(report: ReportProgress, stage: int) -> None:
    report(Progress(STAGES[stage], stage, len(STAGES)))
