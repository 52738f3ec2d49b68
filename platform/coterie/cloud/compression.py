"""The device model learns from labels and from the cloud model, by the same train step that devices run.

Loss: λ·CE(y, p) + (1 - λ)·CE(q, p), q the cloud model's probabilities (Hinton et al. 2015, arXiv 1503.02531, at
temperature 1): Colla's stage 2, and the end of its stage 4.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, Self

import numpy as np
from torch import Tensor

from coterie.child.job import ReportProgress
from coterie.cloud.arrays import array_of, tensor_of
from coterie.cloud.checkpoints import read_checkpoint
from coterie.cloud.course import Course
from coterie.cloud.epochs import Aim, Rows, TrainingOutcome, batches, split
from coterie.cloud.saved_epochs import UNSAVED, Checkpoints, SavedState, Trainee, marked_as_saved, run_saved_epochs
from coterie.cloud.writer import Writer
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import Evaluation, Frozen, open_session, run_model, score_taught
from coterie.evaluation.train_step import Batch, DeviceSteps, decode_training, encode_training
from coterie_learning.local import StepScalars
from coterie_learning.random import derive_seed
from coterie_wire.bundle import ModelSpec
from coterie_wire.contract import DISTILLATION
from coterie_wire.tensors import Float32, Tensors, encode_tensors


class Student(NamedTuple):
    """The device model's graphs."""

    model: ModelSpec
    train_step: bytes
    predict: bytes
    frozen: Frozen


class Stage(Protocol):
    """The settings of a plan's merge for training the device model from the cloud model."""

    @property
    def device_epochs(self) -> int: ...
    @property
    def patience(self) -> int: ...
    @property
    def device_learning_rate(self) -> float: ...
    @property
    def device_momentum(self) -> float: ...
    @property
    def device_label_weight(self) -> float: ...
    @property
    def validation_share(self) -> float: ...


class Compression(NamedTuple):
    """The hyperparameters of one distillation."""

    epochs: int
    patience: int
    learning_rate: float
    momentum: float
    label_weight: float
    """Colla's λ."""
    validation_share: float
    best_by: Literal["accuracy", "loss"]
    """Loss on the validation samples: of the labels alone, or of the mixture, which the labels may contradict."""
    seed: int

    @classmethod
    def of(cls, stage: Stage, *, seed: int) -> Self:
        """The settings of `stage`; the epoch with the least loss is kept."""
        return cls(
            epochs=stage.device_epochs,
            patience=stage.patience,
            learning_rate=stage.device_learning_rate,
            momentum=stage.device_momentum,
            label_weight=stage.device_label_weight,
            validation_share=stage.validation_share,
            best_by="loss",
            seed=seed,
        )


def compress(
    student: Student,
    initial: Tensors,
    dataset: Dataset,
    teacher: Float32,
    how: Compression,
    *,
    report: ReportProgress,
    checkpoints: Checkpoints = UNSAVED,
) -> TrainingOutcome:
    """Train from `initial`, or from a checkpoint; `teacher` [n, classes] are the cloud model's probabilities.

    Every epoch has its own seed, so that an interruption changes no bit. Raises Diverged.
    """
    rows = split(dataset.labels, share=how.validation_share, seed=how.seed)
    held_back = dataset.take(rows.validation)
    steps = DeviceSteps(student.train_step, student.model, student.frozen, seed=how.seed)
    predict = open_session(student.predict)
    weights = StepScalars(
        learning_rate=how.learning_rate,
        momentum=how.momentum if "momentum" in student.model.scalars else 0.0,
        distillation_weight=1 - how.label_weight if DISTILLATION in student.model.scalars else 0.0,
    )
    training = steps.begin(initial)

    def batches_of(epoch: int) -> Sequence[Rows]:
        generator = np.random.default_rng(derive_seed(how.seed, "order", epoch))
        return list(batches(rows.training, size=student.model.batch_size, generator=generator))

    def train(epoch: int, course: Course) -> float:
        nonlocal training
        for _, chosen in course.steps(epoch):
            training, loss, _ = steps.step(training, Batch(dataset.take(chosen), teacher[chosen]), weights)
            course.losses.append(loss)
        return float(np.mean(course.losses))

    def judge() -> Evaluation:
        answer = run_model(predict, training.parameters, held_back, student.frozen)
        return score_taught(
            answer.output,
            held_back.labels,
            teacher[rows.validation],
            label_weight=how.label_weight,
            task=student.model.task,
            padding=student.model.padding,
            own=answer.own,
        )

    def save(course: Course) -> bytes:
        beside = {name: array_of(tensor) for name, tensor in course.remembered().items()}
        return encode_training(training, student.model, beside)

    def restore(saved: bytes) -> Mapping[str, Tensor]:
        nonlocal training
        training, beside = decode_training(saved, student.model)
        return {name: tensor_of(array) for name, array in beside.items()}

    with Writer() as writer:
        return run_saved_epochs(
            Trainee(batches_of, train, judge, lambda: encode_tensors(training.parameters)),
            Aim(how.epochs, how.patience, best_by=how.best_by),
            SavedState(save, restore),
            report,
            writer,
            checkpoints=checkpoints,
            stored=read_checkpoint(checkpoints.path) if checkpoints.path is not None else None,
            amended=lambda progress: progress if checkpoints.path is None else marked_as_saved(progress),
        )
