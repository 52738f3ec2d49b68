"""Colla, stage 4: the cloud model learns from labels and from the devices' mean output, in PyTorch.

Loss: λ·CE(y, p) + (1 - λ)·CE(q, p), q the mean of the devices' probabilities, no temperature (Lu et al. 2019, SEC).
"""

from pathlib import Path

import numpy as np
import torch

from coterie.child.job import ReportProgress
from coterie.cloud.checkpoints import Stored, read_checkpoint, write_checkpoint
from coterie.cloud.epochs import BEGINNING, EpochsSoFar, Outcome, batches, run_epochs, split
from coterie.cloud.program import CloudProgram, as_tensors
from coterie.cloud.training_state import restore_training, save_training
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import score_taught
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
    checkpoint: Path | None = None,
) -> Outcome:
    """Continue training `cloud` from `checkpoint`; `teachers` [n, classes] is the devices' mean output.

    Every epoch has a seed of its own, so that an interruption changes no bit. Raises Diverged.
    """
    rows = split(dataset.labels, share=merge.validation_share, seed=seed)
    held_back = dataset.take(rows.validation)
    optimiser = torch.optim.AdamW(list(cloud.parameters.values()), lr=merge.learning_rate)
    stored = read_checkpoint(checkpoint) if checkpoint is not None else None
    if stored is not None:
        restore_training(cloud, optimiser, stored.trainee)

    def train(epoch: int) -> float:
        torch.manual_seed(derive_seed(seed, "dropout", epoch))
        generator = np.random.default_rng(derive_seed(seed, "order", epoch))
        chosen = batches(rows.training, size=merge.batch_size, generator=generator)
        return float(
            np.mean([_step(cloud, optimiser, dataset.take(batch), teachers[batch], merge.lambda_c) for batch in chosen])
        )

    def keep(standing: EpochsSoFar) -> None:
        if checkpoint is not None:
            write_checkpoint(checkpoint, Stored(standing, save_training(cloud, optimiser)))

    return run_epochs(
        epochs=merge.epochs,
        patience=merge.patience,
        train=train,
        judge=lambda: score_taught(
            cloud.logits(held_back).numpy(), held_back.labels, teachers[rows.validation], label_weight=merge.lambda_c
        ),
        save=cloud.save,
        report=report,
        best_by="loss",
        begin=BEGINNING if stored is None else stored.standing,
        keep=keep,
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
