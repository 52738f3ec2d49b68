"""A small training job for tests: a model with dropout and running statistics, and samples that lines separate."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from coterie.cloud.bootstrap_job import BootstrapArguments
from coterie.compile.program import export_module


def write_job(directory: Path, *, plain: bool = False, hidden: int = 1) -> None:
    """Its model and its samples; a `plain` one has nothing that depends on how a batch is divided."""
    torch.manual_seed(0)
    between = (nn.ReLU(),) if plain else (nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2))
    deeper = [layer for _ in range(hidden - 1) for layer in (nn.Linear(32, 32), nn.ReLU())]
    module = nn.Sequential(nn.Linear(4, 32), *between, *deeper, nn.Linear(32, 3))
    torch.export.save(export_module(module, (torch.zeros(2, 4),)), directory / "cloud.pt2")
    x = np.random.default_rng(0).normal(size=(330, 4)).astype(np.float32)
    np.savez(directory / "data.npz", x=x, y=np.digitize(x[:, 0] + x[:, 1], [-0.7, 0.7]))


def arguments_of(
    directory: Path, strategy: dict[str, object], *, epochs: int = 3, checkpoints: Path | None = None
) -> BootstrapArguments:
    """Arguments of the job; it stops for no plateau."""
    return BootstrapArguments(
        cloud=str(directory / "cloud.pt2"),
        dataset=str(directory / "data.npz"),
        recipe={},
        loss=None,
        output=str(directory / "trained"),
        learning_rate=0.01,
        epochs=epochs,
        patience=epochs,
        strategy=strategy,
        checkpoints=None if checkpoints is None else str(checkpoints),
    )
