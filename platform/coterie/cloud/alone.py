"""Strategy `one_process`: this process trains the model by itself."""

import numpy as np

from coterie.child.job import ReportProgress
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.epoch_loop import Epoch, Kept, stored_epochs, train_epochs
from coterie.cloud.learner import Learner, Rows
from coterie.cloud.training_state import restore_training, save_training


def train_alone(arguments: BootstrapArguments, report: ReportProgress) -> BootstrapResult:
    """Train from the last checkpoint on. Raises MalformedDataset, Diverged, or what `Learner` raises."""
    learner = Learner(arguments, gpu=next(iter(arguments.gpus), None))

    def step(rows: Rows) -> float:
        learner.optimiser.zero_grad()
        loss = learner.backward(rows)
        learner.optimiser.step()
        return loss

    def train(epoch: int) -> Epoch:
        return Epoch(float(np.mean([step(rows) for rows in learner.batches(epoch)])))

    def save() -> bytes:
        return save_training(learner.cloud, learner.optimiser, learner.computing.random_states())

    def restore(saved: bytes) -> None:
        learner.computing.restore_random(restore_training(learner.cloud, learner.optimiser, saved))

    stored = stored_epochs(arguments.checkpoints)
    return train_epochs(learner, train, Kept(save, restore), report, stored=stored)
