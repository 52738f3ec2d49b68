"""The pair of auto-encoders for windows of four sensors, float32 [n, 192], to the same."""

import torch
from torch import Tensor, nn

NUMBERS = 192


class _AutoEncoder(nn.Module):
    def __init__(self, hidden: int, code: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(NUMBERS, hidden), nn.ReLU(), nn.Linear(hidden, code))
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.ReLU(), nn.Linear(hidden, NUMBERS))

    def forward(self, x: Tensor) -> Tensor:
        again: Tensor = self.decoder(self.encoder(x))
        return again


class DeviceModel(_AutoEncoder):
    """26,444 parameters."""

    def __init__(self) -> None:
        super().__init__(hidden=64, code=12)


class CloudModel(_AutoEncoder):
    """Wider."""

    def __init__(self) -> None:
        super().__init__(hidden=256, code=16)


def example() -> Tensor:
    """Two windows."""
    return torch.zeros(2, NUMBERS)
