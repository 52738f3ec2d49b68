"""The train step that a compiled graph has to equal, written with PyTorch's own losses and autograd."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from coterie.learning.compile.compiled import CompiledModel, compile_model
from coterie.learning.compile.program import export_module
from coterie.learning.datasets import Dataset
from coterie.learning.device_steps import Batch
from coterie_wire.local import StepWeights
from tests.zoo.entry import Entry


def compiled(module: nn.Module, *example: Tensor, batch_size: int) -> CompiledModel:
    return compile_model(export_module(module, example), batch_size=batch_size)


def batch_of(entry: Entry, model: CompiledModel, count: int, seed: int) -> Batch:
    """Made-up samples with labels and a teacher's probabilities."""
    generator = np.random.default_rng(seed)
    teacher = generator.dirichlet(np.ones(entry.classes), count).astype(np.float32)
    labels = generator.integers(0, entry.classes, count)
    arrays = {
        spec.name: tensor.numpy() for spec, tensor in zip(model.spec.inputs, entry.samples(count, seed), strict=True)
    }
    return Batch(Dataset(arrays, labels), teacher)


class InPyTorch:
    """A model and its optimiser."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.parameters = dict(module.named_parameters())
        self.anchors = {name: tensor.detach().clone() for name, tensor in self.parameters.items()}
        self.velocities = {name: torch.zeros_like(tensor) for name, tensor in self.parameters.items()}

    def step(self, batch: Batch, weights: StepWeights) -> float:
        """The loss before the step."""
        inputs = (torch.from_numpy(array) for array in batch.dataset.inputs.values())
        target, share = torch.from_numpy(batch.dataset.labels), weights.distillation_weight
        logits = self.module(*inputs)
        assert batch.teacher is not None
        teacher = nn.functional.cross_entropy(logits, torch.from_numpy(batch.teacher))
        loss = (1 - share) * nn.functional.cross_entropy(logits, target) + share * teacher
        gradients = torch.autograd.grad(loss, list(self.parameters.values()))
        with torch.no_grad():
            for (name, tensor), gradient in zip(self.parameters.items(), gradients, strict=True):
                pull = weights.proximal_weight * (tensor - self.anchors[name])
                self.velocities[name] = weights.momentum * self.velocities[name] + gradient + pull
                tensor -= weights.learning_rate * self.velocities[name]
        return loss.item()

    def distance(self, parameters: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]) -> float:
        """How far `parameters` are from the model's, relative to their norm."""
        ours = np.concatenate([parameters[name].ravel() for name in self.parameters])
        theirs = np.concatenate([tensor.detach().numpy().ravel() for tensor in self.parameters.values()])
        return float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))
