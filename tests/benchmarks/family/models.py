"""The models of the benchmark, compiled as the platform does."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import torch
from torch import nn

from coterie.compile.compiled import compile_model
from coterie.compile.program import export_module
from coterie.simulation.learners.neural import NeuralLearner
from coterie.simulation.on_device import Graphs
from coterie_learning.device_plan import LOCAL
from coterie_wire.bundle import ModelSpec

INPUT = "x"


class _Named(nn.Module):
    def __init__(self, layers: nn.Module) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.layers(x)
        return logits


@cache
def learner(features: int, hidden: Sequence[int], classes: int, *, activation: str, batch_size: int) -> NeuralLearner:
    """A network of linear layers, `hidden` wide in between, that begins the same each time it is asked for."""
    widths = [features, *hidden]
    layers: list[nn.Module] = []
    torch.manual_seed(0)
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ELU() if activation == "elu" else nn.ReLU()]
    module = _Named(nn.Sequential(*layers, nn.Linear(widths[-1], classes)))
    compiled = compile_model(export_module(module, (torch.zeros(2, features),)), batch_size=batch_size)
    graphs = Graphs.of(compiled.spec, train_step=compiled.train_step, predict=compiled.predict)
    first = compiled.parameters
    return NeuralLearner(graphs, LOCAL.parse({"kind": "sgd"}), parameters=first, first=first, received=first)


def drawn(model: NeuralLearner, seed: int) -> NeuralLearner:
    """The same network with parameters drawn from `seed`, as PyTorch draws those of linear layers."""
    rng = np.random.default_rng([seed, 7])
    spec: ModelSpec = model.graphs.spec
    shapes = {tensor.name: tensor.shape for tensor in spec.parameters}
    first = {}
    for name, shape in shapes.items():
        inputs = shapes[name.replace("bias", "weight")][1]
        first[name] = rng.uniform(-(inputs**-0.5), inputs**-0.5, shape).astype(np.float32)
    return model.beginning_with(first)
