"""Strategy `one_process`: this process trains the model alone."""

from collections.abc import Mapping

import numpy as np
from torch import Tensor

from coterie.child.job import ReportProgress
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.course import Course
from coterie.cloud.epoch_loop import Epoch, stored_epochs, train_epochs
from coterie.cloud.epochs import Rows
from coterie.cloud.learner import Learner
from coterie.cloud.saved_epochs import SavedState
from coterie.cloud.training_state import restore_training, save_training
from coterie.cloud.writer import Writer


def train_alone(arguments: BootstrapArguments, report: ReportProgress) -> BootstrapResult:
    """Train from the last checkpoint on. Raises MalformedDataset, Diverged, or what `Learner` raises."""
    learner = Learner(arguments, gpu=next(iter(arguments.gpus), None))

    def step(rows: Rows) -> float:
        learner.optimiser.zero_grad()
        loss = learner.backward(rows)
        learner.optimiser.step()
        return loss

    def train(epoch: int, course: Course) -> Epoch:
        for _, rows in course.steps(epoch):
            course.losses.append(step(rows))
        return Epoch(float(np.mean(course.losses)))

    def save(course: Course) -> bytes:
        beside = {**learner.computing.random_states(), **course.remembered()}
        return save_training(learner.cloud, learner.optimiser, beside)

    def restore(saved: bytes) -> Mapping[str, Tensor]:
        beside = restore_training(learner.cloud, learner.optimiser, saved)
        learner.computing.restore_random(beside)
        return beside

    stored = stored_epochs(arguments.checkpoints)
    with Writer() as writer:
        return train_epochs(learner, train, SavedState(save, restore), report, writer, stored=stored)
