"""Gates in a program's operators."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from coterie.cloud.priority.gates import gated, names_by_need
from coterie.cloud.program import CloudProgram
from coterie.compile.program import export_module


class Tied(nn.Module):
    """Its first layer is used again, and one parameter by nobody."""

    def __init__(self) -> None:
        super().__init__()
        self.second = nn.Linear(4, 4)
        self.first = nn.Linear(4, 4)
        self.head = nn.Linear(4, 3)
        self.unused = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(self.first(torch.relu(self.second(self.first(x)))))
        return found


@pytest.fixture
def cloud() -> CloudProgram:
    torch.manual_seed(0)
    return CloudProgram(export_module(Tied(), (torch.zeros(2, 4),)))


def test_parameters_come_in_the_order_of_their_first_use(cloud: CloudProgram) -> None:
    names = names_by_need(cloud)
    assert [name.partition(".")[0] for name in names] == ["first", "first", "second", "second", "head", "head"]


def test_each_gate_opens_once_and_the_output_is_the_same(cloud: CloudProgram) -> None:
    opened: list[str] = []
    graph = gated(cloud, {name: partial(opened.append, name) for name in names_by_need(cloud)})
    inputs = [torch.from_numpy(np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32))]
    assert torch.equal(cloud.run(graph, inputs), cloud.train_logits(inputs))
    assert opened == [*dict.fromkeys(opened)], "once each"
    assert sorted(opened) == sorted(names_by_need(cloud))
    assert [name.partition(".")[0] for name in opened] == ["first", "first", "second", "second", "head", "head"]


def test_what_a_gate_changes_is_what_its_operator_reads(cloud: CloudProgram) -> None:
    @torch.no_grad()
    def clear() -> None:
        cloud.parameters["head.weight"].zero_()

    graph = gated(cloud, {"head.weight": clear})
    output = cloud.run(graph, [torch.ones(2, 4)])
    assert torch.equal(output, cloud.parameters["head.bias"].expand(2, 3))
    torch.autograd.backward(output.sum())
    assert cloud.parameters["first.weight"].grad is not None
