"""Colla, stage 4: the cloud model learns from labels and from the devices' mean output, in PyTorch.

Loss: λ·CE(y, p) + (1 - λ)·CE(q, p), q the mean of the devices' probabilities, no temperature (Lu et al. 2019, SEC).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from coterie.child.job import ReportProgress
from coterie.cloud.checkpoints import read_checkpoint
from coterie.cloud.course import Course
from coterie.cloud.epochs import Aim, Rows, TrainingOutcome, batches, split
from coterie.cloud.program import CloudProgram, as_tensors
from coterie.cloud.saved_epochs import UNSAVED, Checkpoints, SavedState, Trainee, run_saved_epochs
from coterie.cloud.training_state import restore_training, save_training
from coterie.cloud.writer import Writer
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import Evaluation, score_taught
from coterie_learning.merge.distill import DistillMerge
from coterie_learning.random import derive_seed
from coterie_wire.tensors import Float32


def update_cloud(
    cloud: CloudProgram,
    dataset: Dataset,
    teachers: Float32,
    merge: DistillMerge,
    *,
    seed: int,
    report: ReportProgress,
    checkpoints: Checkpoints = UNSAVED,
) -> TrainingOutcome:
    """Continue training `cloud`, from its last checkpoint if it has one; `teachers` [n, classes] is the devices' mean.

    Every epoch has its own seed, so that an interruption changes no bit. Raises Diverged.
    """
    rows = split(dataset.labels, share=merge.validation_share, seed=seed)
    held_back = dataset.take(rows.validation)
    optimiser = torch.optim.AdamW(list(cloud.parameters.values()), lr=merge.learning_rate)

    def batches_of(epoch: int) -> Sequence[Rows]:
        generator = np.random.default_rng(derive_seed(seed, "order", epoch))
        return list(batches(rows.training, size=merge.batch_size, generator=generator))

    def train(epoch: int, course: Course) -> float:
        if course.moment.steps == 0:
            torch.manual_seed(derive_seed(seed, "dropout", epoch))
        for _, batch in course.steps(epoch):
            course.losses.append(_step(cloud, optimiser, dataset.take(batch), teachers[batch], merge.lambda_c))
        return float(np.mean(course.losses))

    def judge() -> Evaluation:
        output = cloud.logits(held_back).numpy()
        return score_taught(output, held_back.labels, teachers[rows.validation], label_weight=merge.lambda_c)

    def save(course: Course) -> bytes:
        return save_training(cloud, optimiser, {**cloud.computing.random_states(), **course.remembered()})

    def restore(saved: bytes) -> Mapping[str, Tensor]:
        beside = restore_training(cloud, optimiser, saved)
        cloud.computing.restore_random(beside)
        return beside

    with Writer() as writer:
        return run_saved_epochs(
            Trainee(batches_of, train, judge, cloud.save),
            Aim(merge.epochs, merge.patience, best_by="loss"),
            SavedState(save, restore),
            report,
            writer,
            checkpoints=checkpoints,
            stored=read_checkpoint(checkpoints.path) if checkpoints.path is not None else None,
        )


def _step(
    cloud: CloudProgram, optimiser: torch.optim.Optimizer, batch: Dataset, teachers: Float32, label_weight: float
) -> float:
    optimiser.zero_grad()
    log_probabilities = torch.log_softmax(cloud.train_logits(as_tensors(batch)), dim=1)
    hot = torch.nn.functional.one_hot(torch.from_numpy(batch.labels), log_probabilities.shape[1])
    wanted = label_weight * hot + (1 - label_weight) * torch.from_numpy(teachers)
    loss = -(wanted * log_probabilities).sum(dim=1).mean()
    torch.autograd.backward(loss)
    optimiser.step()
    return loss.item()
