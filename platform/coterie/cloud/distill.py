"""The work of job `distill`: the first device model learns from labels and from the cloud model (Colla, stage 2)."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from coterie.child.job import ReportProgress
from coterie.cloud.averaging import read_parameters
from coterie.cloud.compression import Compression, Student, compress
from coterie.cloud.distill_job import DistillArguments, DistillResult
from coterie.cloud.epochs import TrainingOutcome
from coterie.cloud.errors import Diverged
from coterie.cloud.program import CloudProgram
from coterie.cloud.saved_epochs import UNSAVED, Checkpoints
from coterie.compile.recipe import parse_recipe
from coterie.compile.upload import load_criterion, load_upload
from coterie.evaluation.datasets import Dataset, read_model_dataset
from coterie.evaluation.scoring import read_frozen
from coterie_wire.bundle import BlobRef
from coterie_wire.tensors import Float32, Tensors

STEP_SHARES = (1.0, 0.25, 0.0625)
"""Shares of the requested learning rate, tried in turn until the loss stays finite."""


def distill_stored(arguments: DistillArguments, report: ReportProgress) -> DistillResult:
    """Train, keep the epoch that is best on the validation samples, and write its parameters.

    Raises MalformedDataset, Diverged, or what `load_upload` and `CloudProgram` raise.
    """
    dataset = read_model_dataset(Path(arguments.dataset), arguments.model)
    cloud = _teacher(arguments)
    teacher = cloud.probabilities(dataset)
    student = Student(
        arguments.model,
        Path(arguments.train_step).read_bytes(),
        Path(arguments.predict).read_bytes(),
        read_frozen(arguments.frozen, arguments.model),
    )
    how = Compression(
        epochs=arguments.epochs,
        patience=arguments.patience,
        learning_rate=arguments.learning_rate,
        momentum=arguments.momentum,
        label_weight=arguments.label_weight,
        validation_share=arguments.validation_share,
        best_by="accuracy",
        seed=arguments.seed,
    )
    initial = read_parameters(Path(arguments.parameters), arguments.model)
    tries = [checkpoints_of(arguments, number) for number in range(len(STEP_SHARES))]
    learning_rate, best = distil(student, initial, dataset, teacher, how, report=report, checkpoints=tries)
    Path(arguments.output).write_bytes(best.state)
    return DistillResult(
        parameters=BlobRef.of_bytes(best.state),
        epochs=best.epochs,
        validation_accuracy=best.evaluation.accuracy,
        validation_loss=best.evaluation.loss,
        class_accuracy=best.evaluation.class_accuracy,
        confusion=best.evaluation.confusion,
        teacher_accuracy=cloud.score(dataset).accuracy,
        learning_rate=learning_rate,
    )


def checkpoints_of(arguments: DistillArguments, number: int) -> Checkpoints:
    """The checkpoints for a learning rate by its number. Those of another teacher, which may be in use by now, are
    ignored.
    """
    if arguments.checkpoints is None:
        return UNSAVED
    teacher = BlobRef.of_file(Path(arguments.cloud_parameters)).sha256
    return Checkpoints(Path(arguments.checkpoints, f"{teacher[:16]}.{number}"), arguments.checkpoint_s)


def distil(
    student: Student,
    initial: Tensors,
    dataset: Dataset,
    teacher: Float32,
    how: Compression,
    *,
    report: ReportProgress,
    checkpoints: Sequence[Checkpoints] = (UNSAVED,) * len(STEP_SHARES),
) -> tuple[float, TrainingOutcome]:
    """The learning rate at which the loss stayed finite, and the result; `teacher` [n, classes] are the teacher's
    outputs.

    A learning rate that averages of devices tolerate may be too large for a single training; each that is tried has its
    own `checkpoints`. Raises Diverged where the least of `STEP_SHARES` diverges, too.
    """

    def attempt(number: int) -> tuple[float, TrainingOutcome]:
        tried = how._replace(learning_rate=how.learning_rate * STEP_SHARES[number])
        best = compress(student, initial, dataset, teacher, tried, report=report, checkpoints=checkpoints[number])
        return tried.learning_rate, best

    *larger, least = range(len(STEP_SHARES))
    for number in larger:
        with suppress(Diverged):
            return attempt(number)
    return attempt(least)


def _teacher(arguments: DistillArguments) -> CloudProgram:
    loss = load_criterion(parse_recipe(arguments.recipe).loss, arguments.loss)
    cloud = CloudProgram(load_upload(Path(arguments.cloud)), loss)
    cloud.load(Path(arguments.cloud_parameters).read_bytes())
    return cloud
