"""Weights that a model keeps where PyTorch does not see them."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from coterie.compile.errors import ExportFailed
from coterie.compile.program import export_module


class Keeping(nn.Module):
    """Computes with two layers that stand in `kept`."""

    def __init__(self, keep: Callable[[nn.Module, nn.Module], object]) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)
        self.layers = keep(nn.Linear(4, 4), nn.Linear(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        kept = self.layers.values() if isinstance(self.layers, dict) else self.layers
        for layer in kept:  # type: ignore[union-attr]
            x = layer(x)
        logits: Tensor = self.head(x)
        return logits


@pytest.mark.parametrize("keep", [lambda *layers: [*layers], lambda a, b: {"a": a, "b": b}, lambda *layers: layers])
def test_weights_in_collections_of_python_are_refused(keep: Callable[[nn.Module, nn.Module], object]) -> None:
    module = nn.Sequential(nn.Linear(4, 4), Keeping(keep))
    with pytest.raises(ExportFailed, match=r"module '1': .*self\.layers.*nn\.ModuleList") as caught:
        export_module(module, (torch.rand(2, 4),))
    assert caught.value.fields["module"] == "1"


def test_weights_that_pytorch_sees_or_that_do_not_train_are_taken() -> None:
    export_module(Keeping(lambda *layers: nn.ModuleList(layers)), (torch.rand(2, 4),))
    export_module(Keeping(lambda *layers: [layer.requires_grad_(False) for layer in layers]), (torch.rand(2, 4),))


def test_recurrent_layers_that_list_their_weights_are_taken() -> None:
    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.LSTM(4, 3, batch_first=True)

        def forward(self, x: Tensor) -> Tensor:
            states: Tensor = self.layers(x)[0]
            return states[:, -1]

    export_module(Last(), (torch.rand(2, 5, 4),))
