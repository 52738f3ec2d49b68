"""A pair with a loss of its own goes all the way from its files to the first version of the device model."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from coterie.child.job import Progress
from coterie.cloud.bootstrap import bootstrap_stored
from coterie.cloud.bootstrap_job import BootstrapArguments
from coterie.cloud.distill import distill_stored
from coterie.cloud.distill_job import DistillArguments
from coterie.cloud.preflight import preflight_stored
from coterie.cloud.preflight_job import PreflightArguments
from coterie.compile.program import export_loss, export_module

RECIPE = {"loss": {"kind": "custom"}}
SAMPLES = 80


def contrastive(output: Tensor, target: Tensor) -> Tensor:
    """Hadsell, Chopra and LeCun 2006, equation 4."""
    apart = (output[:, 0] - output[:, 1]).square().sum(dim=1)
    return torch.where(target == 1, apart, torch.clamp(1 - torch.sqrt(apart + 1e-6), min=0).square())


def ignore(_progress: Progress) -> None:
    pass


@pytest.mark.long
def test_embeddings_are_learned_from_pairs(tmp_path: Path) -> None:
    """Each sample is two points; they belong together where their first coordinates have the same sign."""
    torch.manual_seed(0)
    for name, wide in (("device.pt2", 4), ("cloud.pt2", 16)):
        module = nn.Sequential(nn.Linear(3, wide), nn.Tanh(), nn.Linear(wide, 2))
        torch.export.save(export_module(module, (torch.zeros(2, 2, 3),)), tmp_path / name)
    loss = export_loss(contrastive, torch.zeros(2, 2, 2), torch.zeros(2, dtype=torch.int64))
    torch.export.save(loss, tmp_path / "loss.pt2")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(SAMPLES, 2, 3)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x, y=(x[:, 0, 0] * x[:, 1, 0] > 0).astype(np.int64))

    paths = {name: str(tmp_path / name) for name in ("train_step", "predict", "parameters", "frozen")}
    programs = {"cloud": str(tmp_path / "cloud.pt2"), "loss": str(tmp_path / "loss.pt2")}
    checked = preflight_stored(
        PreflightArguments(
            **paths, **programs, device=str(tmp_path / "device.pt2"), batch_size=8, labels=(), recipe=RECIPE
        ),
        ignore,
    )
    assert (checked.model.task, checked.model.own_loss, checked.model.target.shape) == ("values", True, ())

    given = {**programs, "dataset": str(tmp_path / "data.npz"), "recipe": RECIPE}
    cloud = BootstrapArguments(**given, output=str(tmp_path / "state"), epochs=20, learning_rate=0.03)
    trained = bootstrap_stored(cloud, ignore)
    untrained = bootstrap_stored(
        BootstrapArguments(**given, output=str(tmp_path / "other"), epochs=1, learning_rate=1e-9), ignore
    )
    assert trained.validation_accuracy is None
    assert trained.validation_loss < 0.7 * untrained.validation_loss

    device = DistillArguments(
        **given,
        model=checked.model,
        train_step=paths["train_step"],
        predict=paths["predict"],
        parameters=paths["parameters"],
        cloud_parameters=cloud.output,
        frozen=None,
        output=str(tmp_path / "device"),
        epochs=30,
        learning_rate=0.1,
        label_weight=1.0,
    )
    assert distill_stored(device, ignore).validation_loss < 0.8 * untrained.validation_loss
