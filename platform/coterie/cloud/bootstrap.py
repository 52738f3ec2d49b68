"""The work of job `bootstrap`: train the cloud model on its initial data set (Colla, stage 1), in PyTorch."""

from pathlib import Path

import numpy as np
import torch

from coterie.child.job import ReportProgress
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.epochs import Outcome, batches, run_epochs, split, too_few_held_back
from coterie.cloud.program import CloudProgram, as_tensors
from coterie.compile.losses import loss_and_gradient
from coterie.compile.recipe import parse_recipe
from coterie.compile.upload import load_criterion, load_upload
from coterie.evaluation.datasets import Dataset, choices, read_dataset
from coterie_wire.bundle import BlobRef


def bootstrap_stored(arguments: BootstrapArguments, report: ReportProgress) -> BootstrapResult:
    """Train, keep the epoch that is best on the samples held back, and write its parameters.

    Raises MalformedDataset, Diverged, or what `load_upload` and `CloudProgram` raise.
    """
    torch.manual_seed(arguments.seed)
    loss = load_criterion(parse_recipe(arguments.recipe).loss, arguments.loss)
    cloud = CloudProgram(load_upload(Path(arguments.cloud)), loss)
    signature = cloud.signature
    dataset = read_dataset(
        Path(arguments.dataset),
        inputs=signature.inputs,
        target=signature.target,
        choices=choices(signature.task, signature.output),
        length=signature.length,
    )
    rows = split(dataset.labels, share=arguments.validation_share, seed=arguments.seed)
    held_back = dataset.take(rows.validation)
    optimiser = torch.optim.AdamW(list(cloud.parameters.values()), lr=arguments.learning_rate)
    generator = np.random.default_rng(arguments.seed)

    def train(_epoch: int) -> float:
        chosen = batches(rows.training, size=arguments.batch_size, generator=generator)
        return float(np.mean([_step(cloud, optimiser, dataset.take(batch)) for batch in chosen]))

    best = run_epochs(
        epochs=arguments.epochs,
        patience=arguments.patience,
        train=train,
        judge=lambda: cloud.score(held_back),
        save=cloud.save,
        report=report,
    )
    Path(arguments.output).write_bytes(best.state)
    return BootstrapResult(
        parameters=BlobRef.of_bytes(best.state),
        epochs=best.epochs,
        validation_accuracy=best.evaluation.accuracy,
        validation_loss=best.evaluation.loss,
        class_accuracy=best.evaluation.class_accuracy,
        training_accuracy=_of_training(cloud, best, dataset.take(rows.training)),
        held_back=len(rows.validation),
        warning=too_few_held_back(dataset.labels, held_back.labels),
    )


def _of_training(cloud: CloudProgram, best: Outcome, trained_on: Dataset) -> float | None:
    """Accuracy of the best epoch on the samples it was trained on: where that is low, more epochs help."""
    cloud.load(best.state)
    return cloud.score(trained_on).accuracy


def _step(cloud: CloudProgram, optimiser: torch.optim.Optimizer, batch: Dataset) -> float:
    optimiser.zero_grad()
    output, target = cloud.train_logits(as_tensors(batch)), torch.from_numpy(batch.labels)
    found = loss_and_gradient(cloud.loss, output, target, torch.ones(len(target)), None)
    torch.autograd.backward(output, found.gradient.detach())
    optimiser.step()
    return found.loss.item()
