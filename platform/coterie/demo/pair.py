"""The demo's model pair, for images float32 [1, 8, 8] in 0..1 and ten digits."""

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from coterie.child.job import ReportProgress
from coterie.demo.export import ExportArguments, Exported

IMAGE = (1, 8, 8)
DIGITS = 10


class DeviceModel(nn.Module):
    """The small model that every device trains: 38,282 parameters. [n, 1, 8, 8] to logits [n, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.edges = nn.Conv2d(1, 16, kernel_size=3, padding=1)
        self.strokes = nn.Conv2d(16, 32, kernel_size=3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.hidden = nn.Linear(32 * 4 * 4, 64)
        self.digits = nn.Linear(64, DIGITS)

    def forward(self, images: Tensor) -> Tensor:
        features = torch.relu(self.edges(images))
        features = self.pool(torch.relu(self.strokes(features)))
        logits: Tensor = self.digits(torch.relu(self.hidden(features.flatten(1))))
        return logits


class CloudModel(nn.Module):
    """The large model that teaches: about a quarter of a million parameters. [n, 1, 8, 8] to logits [n, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, kernel_size=3, padding=1),
            nn.GroupNorm(4, 32),
            nn.ReLU(),
            nn.Conv2d(32, 64, kernel_size=3, padding=1),
            nn.GroupNorm(4, 64),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(64, 128, kernel_size=3, padding=1),
            nn.GroupNorm(4, 128),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Dropout(0.3), nn.Linear(128 * 2 * 2, 256), nn.ReLU(), nn.Linear(256, DIGITS)
        )

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.classifier(self.features(images))
        return logits


class PairFiles(NamedTuple):
    """The pair as it is uploaded."""

    device: Path
    cloud: Path


def export_pair(directory: Path, *, seed: int = 0) -> PairFiles:
    """Write both models as ``torch.export`` files into `directory`, with initial parameters drawn from `seed`."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        pair: tuple[nn.Module, nn.Module] = (DeviceModel(), CloudModel())
    files = PairFiles(device=directory / "device.pt2", cloud=directory / "cloud.pt2")
    for model, path in zip(pair, files, strict=True):
        batch = torch.export.Dim("batch", min=1)
        program = torch.export.export(model, (torch.zeros(2, *IMAGE),), dynamic_shapes=({0: batch},))
        torch.export.save(program, path)
    return files


def export(arguments: ExportArguments, _report: ReportProgress) -> Exported:
    """`export_pair` as a job."""
    files = export_pair(Path(arguments.directory), seed=arguments.seed)
    return Exported(device=str(files.device), cloud=str(files.cloud))
