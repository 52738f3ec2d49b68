"""The neural networks of the shipped scenarios, in PyTorch; a simulation compiles them as the platform does."""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from coterie.compile.compiled import CompiledModel, compile_model
from coterie.compile.program import export_module
from coterie.simulation.learner import Task

Body = Literal["mlp", "cnn"]


def compile_body(task: Task, *, body: Body, hidden: int, batch_size: int, seed: int) -> CompiledModel:
    """Compile the network of `export_body`."""
    return compile_model(export_body(task, body=body, hidden=hidden, seed=seed), batch_size=batch_size)


def export_body(task: Task, *, body: Body, hidden: int, seed: int) -> ExportedProgram:
    """A classifier for `task` of one input, with initial parameters drawn from `seed`."""
    (spec,) = task.inputs
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = _mlp(spec.shape, hidden, task.classes) if body == "mlp" else _cnn(spec.shape, hidden, task.classes)
    return export_module(Named(module), (torch.zeros(2, *spec.shape),))


class Named(nn.Module):
    """Names the input as in the task."""

    def __init__(self, layers: nn.Module) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.layers(x)
        return logits


def _mlp(shape: Sequence[int], hidden: int, classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), hidden), nn.ReLU(), nn.Linear(hidden, classes))


def _cnn(shape: Sequence[int], hidden: int, classes: int) -> nn.Module:
    channels, height, width = shape
    return nn.Sequential(
        nn.Conv2d(channels, 8, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * (height // 2) * (width // 2), hidden),
        nn.ReLU(),
        nn.Linear(hidden, classes),
    )
