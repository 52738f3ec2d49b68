"""The train step that a compiled graph has to equal, written with PyTorch's own losses and optimisers."""

import tempfile
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.nn import functional

from coterie.compile.compiled import CompiledModel, compile_model
from coterie.compile.program import export_module
from coterie.compile.recipe import Recipe
from coterie.compile.recipe.loss import Loss
from coterie.compile.recipe.loss.binary_cross_entropy import BinaryCrossEntropy
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.recipe.loss.mean_squared_error import MeanSquaredError
from coterie.compile.recipe.loss.next_token import NextToken
from coterie.compile.recipe.optimiser import Optimiser
from coterie.compile.recipe.optimiser.adam import Adam
from coterie.compile.recipe.optimiser.adamw import AdamW
from coterie.compile.recipe.optimiser.sgd import Sgd
from coterie.compile.upload import load_upload
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.train_step import Batch
from coterie_learning.local import StepScalars
from coterie_wire.contract import at_length
from coterie_wire.length import Length
from tests.zoo.entry import Entry

Arrays = Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]
Build = Callable[[list[Tensor], StepScalars], torch.optim.Optimizer]


@dataclass(frozen=True)
class Paired:
    """An optimiser of ours with PyTorch's, and its share of the entry's learning rate."""

    kind: Optimiser
    in_pytorch: Build
    share: float = 1.0
    momentum: float = 0.0
    weight_decay: float = 0.0

    def weights(self, entry: Entry) -> StepScalars:
        """Those of a step, with a teacher and a proximal term."""
        return StepScalars(
            entry.learning_rate * self.share,
            self.momentum,
            self.weight_decay,
            clip_norm=1.0,
            proximal_weight=0.1,
            distillation_weight=0.3,
        )


OPTIMISERS: Mapping[str, Paired] = {
    "momentum": Paired(
        Sgd(), lambda tensors, w: torch.optim.SGD(tensors, lr=w.learning_rate, momentum=w.momentum), momentum=0.5
    ),
    "nesterov": Paired(
        Sgd(momentum="nesterov"),
        lambda tensors, w: torch.optim.SGD(tensors, lr=w.learning_rate, momentum=w.momentum, nesterov=True),
        momentum=0.5,
    ),
    "adam": Paired(Adam(), lambda tensors, w: torch.optim.Adam(tensors, lr=w.learning_rate), share=0.02),
    "adamw": Paired(
        AdamW(),
        lambda tensors, w: torch.optim.AdamW(tensors, lr=w.learning_rate, weight_decay=w.weight_decay),
        share=0.02,
        weight_decay=0.1,
    ),
}


def compiled(
    module: nn.Module,
    *example: Tensor,
    batch_size: int,
    recipe: Recipe | None = None,
    length: Length | None = None,
) -> CompiledModel:
    """By way of a file, as a platform gets it."""
    program = uploaded(export_module(module, example, length))
    return compile_model(program, recipe or Recipe(), batch_size=batch_size)


def uploaded(program: ExportedProgram) -> ExportedProgram:
    """`program`, saved and loaded as an upload."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "model.pt2")
        torch.export.save(program, path)
        return load_upload(path)


def batch_of(entry: Entry, model: CompiledModel, count: int, seed: int, length: int = 0) -> Batch:
    """Made-up samples with targets and what a teacher says; `length` long where samples differ in it."""
    generator = np.random.default_rng(seed)
    samples = entry.samples(count, seed, length)
    arrays = {spec.name: tensor.numpy() for spec, tensor in zip(model.spec.inputs, samples, strict=True)}
    shape = (count, *at_length(model.spec, length).output.shape)
    match entry.loss:
        case MeanSquaredError():
            target = samples[0].numpy().reshape(shape)
            teacher = generator.normal(size=shape)
        case BinaryCrossEntropy():
            target = generator.integers(0, 2, shape).astype(np.float32)
            teacher = generator.random(shape)
        case _:
            target = generator.integers(0, entry.classes, shape[:-1])
            teacher = generator.dirichlet(np.ones(entry.classes), shape[:-1])
    return Batch(Dataset(arrays, target), teacher.astype(np.float32))


def loss_of(kind: Loss, output: Tensor, target: Tensor, teacher: Tensor, share: float) -> Tensor:
    """The mean over samples of what their targets and the teacher ask for."""
    match kind:
        case MeanSquaredError():
            own, taught = functional.mse_loss(output, target), functional.mse_loss(output, teacher)
        case BinaryCrossEntropy():
            own = functional.binary_cross_entropy_with_logits(output, target)
            taught = functional.binary_cross_entropy_with_logits(output, teacher)
        case NextToken():
            kept = target != kind.padding
            own = functional.cross_entropy(output[kept], target[kept])
            taught = functional.cross_entropy(output[kept], teacher[kept])
        case CrossEntropy():
            own, taught = functional.cross_entropy(output, target), functional.cross_entropy(output, teacher)
        case other:
            raise AssertionError(f"no reference for {other}")
    return (1 - share) * own + share * taught


class InPyTorch:
    """A model and its optimiser."""

    def __init__(self, module: nn.Module, paired: Paired, weights: StepScalars, loss: Loss | None = None) -> None:
        self.module, self.weights, self.loss = module, weights, loss or CrossEntropy()
        self.parameters = dict(module.named_parameters())
        self.anchors = {name: tensor.detach().clone() for name, tensor in self.parameters.items()}
        self.optimiser = paired.in_pytorch(list(self.parameters.values()), weights)

    def step(self, batch: Batch, *, clip: bool = False) -> float:
        """The loss before the step."""
        inputs = (torch.from_numpy(array) for array in batch.dataset.inputs.values())
        assert batch.teacher is not None
        target, teacher = torch.from_numpy(batch.dataset.labels), torch.from_numpy(batch.teacher)
        loss = loss_of(self.loss, self.module(*inputs), target, teacher, self.weights.distillation_weight)
        off = [(tensor - self.anchors[name]).square().sum() for name, tensor in self.parameters.items()]
        self.optimiser.zero_grad()
        torch.autograd.backward(loss + self.weights.proximal_weight / 2 * torch.stack(off).sum())
        if clip:
            nn.utils.clip_grad_norm_(list(self.parameters.values()), self.weights.clip_norm)
        self.optimiser.step()
        return loss.item()

    def version(self, names: Container[str]) -> Arrays:
        """The model's parameters, and of its buffers those among `names`, as they are now."""
        tensors = {**self.parameters, **{name: part for name, part in self.module.named_buffers() if name in names}}
        return {name: tensor.detach().numpy().copy() for name, tensor in tensors.items()}

    def distance(self, found: Arrays) -> float:
        """How far parameters and running statistics are from the model's, relative to their norm."""
        theirs = self.version(found)
        norm = np.linalg.norm(np.concatenate([part.ravel() for part in theirs.values()]))
        return difference(found, theirs) / float(norm)

    def adopt(self, found: Arrays) -> None:
        """Go on from these parameters and running statistics, with the optimiser's own state."""
        tensors = {**dict(self.module.named_buffers()), **self.parameters}
        with torch.no_grad():
            for name, tensor in tensors.items():
                if name in found:  # an average is stored flat
                    tensor.copy_(torch.from_numpy(found[name].copy()).reshape(tensor.shape))


def difference(found: Arrays, wanted: Arrays) -> float:
    """The norm of what all tensors of `wanted` differ by."""
    return float(np.linalg.norm(np.concatenate([(found[name] - part).ravel() for name, part in wanted.items()])))
