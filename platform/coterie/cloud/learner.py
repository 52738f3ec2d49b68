"""The part that all strategies share: a cloud model with its samples, their order, and its optimiser."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.export import ExportedProgram

from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.computing import CPU, Computing
from coterie.cloud.epochs import Rows, TrainingOutcome, batches, split, too_few_held_back
from coterie.cloud.program import CloudProgram
from coterie.compile.recipe import parse_recipe
from coterie.compile.upload import load_criterion, load_upload
from coterie.evaluation.datasets import choices, read_dataset
from coterie.evaluation.scoring import Evaluation
from coterie_wire.bundle import BlobRef

Forward = Callable[[Sequence[Tensor]], Tensor]


class Learner:
    """The model as uploaded, until a strategy trains it or loads a state."""

    def __init__(
        self, arguments: BootstrapArguments, program: ExportedProgram | None = None, *, gpu: int | None = None
    ) -> None:
        """`program`: the cloud model, if it has been read already. `gpu`: number of the GPU to compute on; None: on
        cores.

        Raises MalformedDataset, NoGpu, or what `load_upload` and `CloudProgram` raise.
        """
        self.computing = Computing(
            CPU if gpu is None else torch.device("cuda", gpu),
            bf16=arguments.precision == "bf16",
            compiled=arguments.compiled,
        )
        self.computing.begin()
        torch.manual_seed(arguments.seed)
        loss = load_criterion(parse_recipe(arguments.recipe).loss, arguments.loss)
        self.arguments = arguments
        whole = load_upload(Path(arguments.cloud)) if program is None else program
        self.cloud = CloudProgram(whole, loss, self.computing)
        signature = self.cloud.signature
        self.dataset = read_dataset(
            Path(arguments.dataset),
            inputs=signature.inputs,
            target=signature.target,
            choices=choices(signature.task, signature.output),
            length=signature.length,
        )
        self.rows = split(self.dataset.labels, share=arguments.validation_share, seed=arguments.seed)
        self.held_back = self.dataset.take(self.rows.validation)
        self.optimiser = self.computing.adamw(self.cloud.parameters.values(), arguments.learning_rate)
        self._generator, self._drawn = np.random.default_rng(arguments.seed), 0
        self._order: Sequence[Rows] = ()
        """The batches that were drawn last."""

    def batches(self, epoch: int) -> Sequence[Rows]:
        """The batches of `epoch`, from 0, each as the rows of its samples; every process draws the same ones."""
        if epoch == self._drawn - 1:
            return self._order
        if epoch < self._drawn:
            self._generator, self._drawn = np.random.default_rng(self.arguments.seed), 0
        while self._drawn < epoch:
            self._generator.permutation(self.rows.training)
            self._drawn += 1
        self._drawn += 1
        self._order = list(batches(self.rows.training, size=self.arguments.batch_size, generator=self._generator))
        return self._order

    def backward(self, rows: Rows, *, factor: float = 1.0, forward: Forward | None = None) -> float:
        """Add `factor` times the gradient of the mean loss of `rows` to the parameters' gradients; returns that
        loss.
        """
        batch = self.dataset.take(rows)
        output = (forward or self.cloud.train_logits)(self.cloud.inputs_of(batch))
        found = self.cloud.loss_and_gradient(output, self.cloud.target_of(batch))
        torch.autograd.backward(output, found.gradient.detach() * factor)
        return found.loss.item()

    def judge(self) -> Evaluation:
        """Evaluate it on the validation samples."""
        return self.cloud.score(self.held_back)

    def conclude(self, best: TrainingOutcome) -> BootstrapResult:
        """Write the best epoch's parameters. Accuracy on the training samples: where it is low, more epochs help."""
        Path(self.arguments.output).write_bytes(best.state)
        self.cloud.load(best.state)
        return BootstrapResult(
            parameters=BlobRef.of_bytes(best.state),
            epochs=best.epochs,
            validation_accuracy=best.evaluation.accuracy,
            validation_loss=best.evaluation.loss,
            class_accuracy=best.evaluation.class_accuracy,
            confusion=best.evaluation.confusion,
            training_accuracy=self.cloud.score(self.dataset.take(self.rows.training)).accuracy,
            held_back=len(self.rows.validation),
            ended=best.ended,
            warning=too_few_held_back(self.dataset.labels, self.held_back.labels),
        )


def share_of(rows: Rows, worker: int, workers: int) -> Rows:
    """One worker's part of a batch; empty where there are fewer samples than workers."""
    share: Rows = np.array_split(rows, workers)[worker]
    return share
