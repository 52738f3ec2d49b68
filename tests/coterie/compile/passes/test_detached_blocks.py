import io

import torch
from torch import Tensor, nn

from coterie.compile.flat import FlatProgram
from coterie.compile.program import export_module


class OnFeatures(nn.Module):
    """A head on features that nothing is learned through, and on a second result of the same block."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            features = self.body(x).relu()
            middle = features.mean(dim=1, keepdim=True)
        logits: Tensor = self.head(features - middle)
        return logits


class Blocked(nn.Module):
    """What it gives comes of a block itself."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            logits: Tensor = self.head(x)
        return logits


def test_a_block_is_part_of_the_graph_and_gives_no_gradient() -> None:
    module, x = OnFeatures(), torch.randn(5, 4)
    graph = export_module(module, (x,)).graph_module
    assert not list(graph.children())
    names = [name for name, _ in module.named_parameters()]
    program = FlatProgram(graph, (*names, "x"))

    def total(parameters: dict[str, Tensor]) -> Tensor:
        return program.forward({**parameters, "x": x})[0].square().sum()

    parameters = {name: tensor.detach() for name, tensor in module.named_parameters()}
    gradients = torch.func.grad(total)(parameters)
    module(x).square().sum().backward()
    for name, parameter in module.named_parameters():
        expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        torch.testing.assert_close(gradients[name], expected)
    assert bool(gradients["head.weight"].any()) and not bool(gradients["body.weight"].any())


def test_a_program_that_ends_with_a_block_can_be_stored() -> None:
    module, x = Blocked(), torch.randn(5, 4)
    stored = io.BytesIO()
    torch.export.save(export_module(module, (x,)), stored)
    stored.seek(0)
    torch.testing.assert_close(torch.export.load(stored).module()(x), module(x))
