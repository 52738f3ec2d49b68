"""Layers of neighbouring parameters."""

import pytest
import torch
from torch import nn

from coterie.cloud.priority.layers import layers_of, names_together
from coterie.cloud.program import CloudProgram
from coterie.compile.program import export_module


@pytest.fixture
def cloud() -> CloudProgram:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2), nn.ReLU(), nn.Linear(2, 2))
    return CloudProgram(export_module(module, (torch.zeros(2, 4),)))


def test_neighbours_share_a_layer_as_long_as_a_piece_has_room(cloud: CloudProgram) -> None:
    alone = [["0.bias"], ["0.weight"], ["2.bias"], ["2.weight"], ["4.bias"], ["4.weight"]]
    assert names_together(cloud, 1) == alone, "one that is larger than a piece"
    assert names_together(cloud, 40) == [["0.bias", "0.weight"], ["2.bias", "2.weight", "4.bias", "4.weight"]]
    assert [layer.sizes for layer in layers_of(cloud, 40)] == [[8, 32], [2, 16, 2, 4]]
    assert [len(layer.numbers) for layer in layers_of(cloud, 40, beside=1)] == [41, 24]


def test_gradients_leave_their_parameters_and_the_others_count_as_zeros(cloud: CloudProgram) -> None:
    (layer,) = layers_of(cloud, 1000)
    layer.numbers.fill_(7)
    weight = cloud.parameters["2.weight"]
    weight.grad = torch.ones_like(weight)
    layer.take(layer.names.index("2.weight"))
    layer.fill()
    assert weight.grad is None
    assert layer.idle() == {0, 1, 2, 4, 5}
    assert layer.numbers.sum() == 16
    assert torch.equal(layer.parts[3], torch.ones(2, 8))
