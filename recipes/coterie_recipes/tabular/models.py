"""The pair for rows of six numbers about 0, float32 [n, 6]."""

import torch
from torch import Tensor, nn

COLUMNS, CLASSES = 6, 2


class DeviceModel(nn.Module):
    """1,346 parameters. [n, 6] to logits [n, 2]."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(COLUMNS, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.faults = nn.Linear(32, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.faults(self.body(x))
        return logits


class CloudModel(nn.Module):
    """Wider. [n, 6] to logits [n, 2]."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(COLUMNS, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 64), nn.ReLU())
        self.faults = nn.Linear(64, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.faults(self.body(x))
        return logits


def example() -> Tensor:
    """Two rows."""
    return torch.zeros(2, COLUMNS)
