"""The device model learns from labels and from the cloud model, by the same train step that devices run.

Loss: λ·CE(y, p) + (1 - λ)·CE(q, p), q the cloud model's probabilities (Hinton et al. 2015, arXiv 1503.02531, at
temperature 1): Colla's stage 2, and the end of its stage 4.
"""

from pathlib import Path
from typing import Literal, NamedTuple, Protocol, Self

import numpy as np

from coterie.child.job import ReportProgress
from coterie.cloud.checkpoints import Stored, read_checkpoint, write_checkpoint
from coterie.cloud.epochs import BEGINNING, EpochsSoFar, Outcome, batches, run_epochs, split
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import Evaluation, Frozen, ask, open_session, score_taught
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


class Course(NamedTuple):
    """How it learns."""

    epochs: int
    patience: int
    learning_rate: float
    momentum: float
    label_weight: float
    """Colla's λ."""
    validation_share: float
    best_by: Literal["accuracy", "loss"]
    """Loss on the samples held back: of the labels alone, or of the mixture, which the labels may contradict."""
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
    course: Course,
    *,
    report: ReportProgress,
    checkpoint: Path | None = None,
) -> Outcome:
    """Train from `initial`, or from `checkpoint`; `teacher` [n, classes] are the cloud model's probabilities.

    Every epoch has a seed of its own, so that an interruption changes no bit. Raises Diverged.
    """
    rows = split(dataset.labels, share=course.validation_share, seed=course.seed)
    held_back = dataset.take(rows.validation)
    steps = DeviceSteps(student.train_step, student.model, student.frozen, seed=course.seed)
    predict = open_session(student.predict)
    weights = StepScalars(
        learning_rate=course.learning_rate,
        momentum=course.momentum if "momentum" in student.model.scalars else 0.0,
        distillation_weight=1 - course.label_weight if DISTILLATION in student.model.scalars else 0.0,
    )
    stored = read_checkpoint(checkpoint) if checkpoint is not None else None
    training = steps.begin(initial) if stored is None else decode_training(stored.trainee, student.model)

    def train(epoch: int) -> float:
        nonlocal training
        losses = []
        generator = np.random.default_rng(derive_seed(course.seed, "order", epoch))
        for chosen in batches(rows.training, size=student.model.batch_size, generator=generator):
            training, loss, _ = steps.step(training, Batch(dataset.take(chosen), teacher[chosen]), weights)
            losses.append(loss)
        return float(np.mean(losses))

    def keep(standing: EpochsSoFar) -> None:
        if checkpoint is not None:
            write_checkpoint(checkpoint, Stored(standing, encode_training(training, student.model)))

    def judge() -> Evaluation:
        answer = ask(predict, training.parameters, held_back, student.frozen)
        return score_taught(
            answer.output,
            held_back.labels,
            teacher[rows.validation],
            label_weight=course.label_weight,
            task=student.model.task,
            padding=student.model.padding,
            own=answer.own,
        )

    return run_epochs(
        epochs=course.epochs,
        patience=course.patience,
        train=train,
        judge=judge,
        save=lambda: encode_tensors(training.parameters),
        report=report,
        best_by=course.best_by,
        begin=BEGINNING if stored is None else stored.standing,
        keep=keep,
    )
