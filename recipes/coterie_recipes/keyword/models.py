"""The pair for a second of sound, float32 [n, 20, 40]: the logarithm of energies in mel bands and time."""

import torch
from torch import Tensor, nn

KEYWORDS, BANDS, FRAMES = 8, 20, 40


class DeviceModel(nn.Module):
    """Convolutions over time whose channels are the bands (Choi et al. 2019, arXiv 1904.03814): 8,904 parameters.

    [n, 20, 40] to logits [n, 8].
    """

    def __init__(self) -> None:
        super().__init__()
        self.sounds = nn.Conv1d(BANDS, 32, kernel_size=5, stride=2, padding=2)
        self.syllables = nn.Conv1d(32, 32, kernel_size=5, stride=2, padding=2)
        self.keywords = nn.Linear(2 * 32, KEYWORDS)

    def forward(self, x: Tensor) -> Tensor:
        heard = torch.relu(self.syllables(torch.relu(self.sounds(x))))
        logits: Tensor = self.keywords(torch.cat([heard.mean(2), heard.amax(2)], 1))
        return logits


class CloudModel(nn.Module):
    """Wider and deeper. [n, 20, 40] to logits [n, 8]."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(BANDS, 96, kernel_size=5, padding=2),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(96, 128, kernel_size=5, padding=2),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(128, 128, kernel_size=3, padding=1),
            nn.ReLU(),
        )
        self.keywords = nn.Sequential(nn.Dropout(0.2), nn.Linear(2 * 128, 96), nn.ReLU(), nn.Linear(96, KEYWORDS))

    def forward(self, x: Tensor) -> Tensor:
        heard = self.features(x)
        logits: Tensor = self.keywords(torch.cat([heard.mean(2), heard.amax(2)], 1))
        return logits


def example() -> Tensor:
    """Two seconds of nothing."""
    return torch.zeros(2, BANDS, FRAMES)
