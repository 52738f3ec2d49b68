"""The pair for windows of acceleration, float32 [n, 3, 128] in g. Both turn a window upright before they look at it.

What is measured along gravity and across it does not depend on how the phone lies. This is a part of the graphs, so
that a Raspberry Pi and a browser compute it alike. Which way is up is kept: postures differ in nothing else.
"""

import torch
from torch import Tensor, nn

ACTIVITIES = 6


class Upright(nn.Module):
    """[n, 3, 128] to [n, 3, 128]: along gravity, across it, and the size of both; and to [n, 3]: which way is up."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean = x.mean(2, keepdim=True)
        strength = mean.pow(2).sum(1, keepdim=True).sqrt().clamp(min=0.1)
        up = mean / strength
        along = (x * up).sum(1, keepdim=True)
        across = (x - up * along).pow(2).sum(1, keepdim=True).clamp(min=1e-6).sqrt()
        size = x.pow(2).sum(1, keepdim=True).clamp(min=1e-6).sqrt()
        return torch.cat([along - strength, across, size - strength], 1) * 4, up.squeeze(2)


class DeviceModel(nn.Module):
    """9,046 parameters. [n, 3, 128] to logits [n, 6]."""

    def __init__(self) -> None:
        super().__init__()
        self.upright = Upright()
        self.steps = nn.Conv1d(3, 24, kernel_size=9, stride=2, padding=4)
        self.gait = nn.Conv1d(24, 32, kernel_size=7, stride=2, padding=3)
        self.hidden = nn.Linear(2 * 32 + 3, 40)
        self.activities = nn.Linear(40, ACTIVITIES)

    def forward(self, acceleration: Tensor) -> Tensor:
        moving, up = self.upright(acceleration)
        features = torch.relu(self.gait(torch.relu(self.steps(moving))))
        seen = torch.cat([features.mean(2), features.amax(2), up], 1)
        logits: Tensor = self.activities(torch.relu(self.hidden(seen)))
        return logits


class CloudModel(nn.Module):
    """Wider and deeper. [n, 3, 128] to logits [n, 6]."""

    def __init__(self) -> None:
        super().__init__()
        self.upright = Upright()
        self.features = nn.Sequential(
            nn.Conv1d(3, 48, kernel_size=9, padding=4),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(48, 96, kernel_size=7, padding=3),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(96, 128, kernel_size=5, padding=2),
            nn.ReLU(),
        )
        self.activities = nn.Sequential(
            nn.Dropout(0.2), nn.Linear(2 * 128 + 3, 128), nn.ReLU(), nn.Linear(128, ACTIVITIES)
        )

    def forward(self, acceleration: Tensor) -> Tensor:
        moving, up = self.upright(acceleration)
        features = self.features(moving)
        logits: Tensor = self.activities(torch.cat([features.mean(2), features.amax(2), up], 1))
        return logits


def example() -> Tensor:
    """Two windows of a phone at rest."""
    return torch.tensor([0.0, 0.0, 1.0]).reshape(1, 3, 1).expand(2, 3, 128).clone()
