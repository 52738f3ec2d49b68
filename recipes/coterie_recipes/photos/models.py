"""The pair for pictures, float32 [n, 3, 16, 16] in 0..1."""

import torch
from torch import Tensor, nn

THINGS = 8


class DeviceModel(nn.Module):
    """10,568 parameters. [n, 3, 16, 16] to logits [n, 8]."""

    def __init__(self) -> None:
        super().__init__()
        self.edges = nn.Conv2d(3, 12, kernel_size=3, padding=1)
        self.parts = nn.Conv2d(12, 16, kernel_size=3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.hidden = nn.Linear(16 * 4 * 4, 32)
        self.things = nn.Linear(32, THINGS)

    def forward(self, picture: Tensor) -> Tensor:
        features = self.pool(torch.relu(self.edges(picture)))
        features = self.pool(torch.relu(self.parts(features)))
        logits: Tensor = self.things(torch.relu(self.hidden(features.flatten(1))))
        return logits


class CloudModel(nn.Module):
    """Wider and deeper. [n, 3, 16, 16] to logits [n, 8]."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 64, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(64, 96, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.things = nn.Sequential(
            nn.Flatten(), nn.Dropout(0.3), nn.Linear(96 * 4 * 4, 128), nn.ReLU(), nn.Linear(128, THINGS)
        )

    def forward(self, picture: Tensor) -> Tensor:
        logits: Tensor = self.things(self.features(picture))
        return logits


def example() -> Tensor:
    """Two black pictures."""
    return torch.zeros(2, 3, 16, 16)
