"""The work of job `distill`: the first device model learns from labels and from the cloud model (Colla, stage 2)."""

from pathlib import Path

from coterie.learning.child.job import ReportProgress
from coterie.learning.cloud.compression import Course, Student, compress
from coterie.learning.cloud.program import CloudProgram
from coterie.learning.compile.upload import load_upload
from coterie.learning.datasets import Dataset, read_model_dataset
from coterie.learning.jobs.distill import DistillArguments, DistillResult
from coterie.learning.merging import read_parameters
from coterie_wire.bundle import BlobRef
from coterie_wire.codec import Float32


def distill_stored(arguments: DistillArguments, report: ReportProgress) -> DistillResult:
    """Train, keep the epoch that is best on the samples held back, and write its parameters.

    Raises MalformedDataset, Diverged, or what `load_upload` and `CloudProgram` raise.
    """
    dataset = read_model_dataset(Path(arguments.dataset), arguments.model)
    teacher = _teacher(arguments).probabilities(dataset)
    student = Student(arguments.model, Path(arguments.train_step).read_bytes(), Path(arguments.predict).read_bytes())
    course = Course(
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
    best = compress(student, initial, dataset, teacher, course, report=report)
    Path(arguments.output).write_bytes(best.state)
    return DistillResult(
        parameters=BlobRef.of_bytes(best.state),
        epochs=best.epochs,
        validation_accuracy=best.evaluation.accuracy,
        validation_loss=best.evaluation.loss,
        teacher_accuracy=_accuracy(teacher, dataset),
    )


def _teacher(arguments: DistillArguments) -> CloudProgram:
    cloud = CloudProgram(load_upload(Path(arguments.cloud)))
    cloud.load(Path(arguments.cloud_parameters).read_bytes())
    return cloud


def _accuracy(probabilities: Float32, dataset: Dataset) -> float:
    return float((probabilities.argmax(axis=1) == dataset.labels).mean())
