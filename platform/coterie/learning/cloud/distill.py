"""The work of job `distill`: the first device model learns from labels and from the cloud model (Colla, stage 2).

Loss: λ·CE(y, p) + (1 - λ)·CE(q, p), q the cloud model's probabilities (Hinton et al. 2015, arXiv 1503.02531, at
temperature 1). It runs the very train step that devices run.
"""

from pathlib import Path

import numpy as np

from coterie.learning.child.job import ReportProgress
from coterie.learning.cloud.epochs import batches, run_epochs, split
from coterie.learning.cloud.program import CloudProgram
from coterie.learning.compile.upload import load_upload
from coterie.learning.datasets import Dataset, read_model_dataset
from coterie.learning.device_steps import Batch, DeviceSteps
from coterie.learning.evaluate import open_session, predict_logits, score
from coterie.learning.jobs.distill import DistillArguments, DistillResult
from coterie_wire.bundle import BlobRef
from coterie_wire.codec import Float32, Tensors
from coterie_wire.local import StepWeights
from coterie_wire.tensors import decode_tensors, encode_tensors


def distill_stored(arguments: DistillArguments, report: ReportProgress) -> DistillResult:
    """Train, keep the epoch that is best on the samples held back, and write its parameters.

    Raises MalformedDataset, Diverged, or what `load_upload` and `CloudProgram` raise.
    """
    dataset = read_model_dataset(Path(arguments.dataset), arguments.model)
    teacher = _teacher(arguments).probabilities(dataset)
    rows = split(len(dataset.labels), share=arguments.validation_share, seed=arguments.seed)
    held_back = dataset.take(rows.validation)
    steps = DeviceSteps(Path(arguments.train_step).read_bytes(), arguments.model)
    predict = open_session(Path(arguments.predict).read_bytes())
    training = steps.begin(_initial(arguments))
    weights = StepWeights(
        learning_rate=arguments.learning_rate,
        momentum=arguments.momentum,
        distillation_weight=1 - arguments.label_weight,
    )
    generator = np.random.default_rng(arguments.seed)

    def train() -> float:
        nonlocal training
        losses = []
        for chosen in batches(rows.training, size=arguments.model.batch_size, generator=generator):
            training, loss, _ = steps.step(training, Batch(dataset.take(chosen), teacher[chosen]), weights)
            losses.append(loss)
        return float(np.mean(losses))

    best = run_epochs(
        epochs=arguments.epochs,
        patience=arguments.patience,
        train=train,
        judge=lambda: score(predict_logits(predict, training.parameters, held_back), held_back.labels),
        save=lambda: encode_tensors(training.parameters),
        report=report,
    )
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


def _initial(arguments: DistillArguments) -> Tensors:
    tensors = decode_tensors(Path(arguments.parameters).read_bytes(), expected=arguments.model.parameters)
    return {name: tensor.astype(np.float32) for name, tensor in tensors.items()}


def _accuracy(probabilities: Float32, dataset: Dataset) -> float:
    return float((probabilities.argmax(axis=1) == dataset.labels).mean())
