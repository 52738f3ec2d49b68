"""The pair for a visit's time and the three places before it, float32 [n, 28]."""

import torch
from torch import Tensor, nn

FEATURES, PLACES = 28, 8


class _Perceptron(nn.Module):
    def __init__(self, *widths: int, dropout: float = 0.0) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, width in zip((FEATURES, *widths), widths, strict=False):
            layers += [nn.Linear(before, width), nn.ReLU()] + ([nn.Dropout(dropout)] if dropout else [])
        self.body = nn.Sequential(*layers)
        self.places = nn.Linear(widths[-1], PLACES)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.places(self.body(x))
        return logits


class DeviceModel(_Perceptron):
    """4,200 parameters. [n, 28] to logits [n, 8]."""

    def __init__(self) -> None:
        super().__init__(64, 32)


class CloudModel(_Perceptron):
    """Wider. [n, 28] to logits [n, 8]."""

    def __init__(self) -> None:
        super().__init__(256, 128, dropout=0.2)


def example() -> Tensor:
    """Two visits."""
    return torch.zeros(2, FEATURES)
