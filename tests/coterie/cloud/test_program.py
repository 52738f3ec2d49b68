from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from coterie.cloud.program import CloudProgram
from coterie.cloud.trial import try_cloud
from coterie.compile.errors import FixedBatch, NotTrainable
from coterie.compile.program import export_module
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.upload import load_upload
from coterie.evaluation.datasets import Dataset


@pytest.fixture
def program(tmp_path: Path) -> CloudProgram:
    """Batch normalisation and dropout, which device models lack, through a file."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
    torch.export.save(export_module(module, (torch.zeros(2, 4),)), tmp_path / "cloud.pt2")
    return CloudProgram(load_upload(tmp_path / "cloud.pt2"))


@pytest.fixture
def samples() -> Dataset:
    generator = np.random.default_rng(0)
    return Dataset({"input": generator.random((20, 4), np.float32) + 2}, np.arange(20) % 3)


def test_training_gathers_statistics_and_service_uses_them(program: CloudProgram, samples: Dataset) -> None:
    before = program.logits(samples)
    assert torch.equal(before, program.logits(samples))
    program.train_logits([torch.from_numpy(samples.inputs["input"])])
    assert program.state["1.running_mean"].abs().sum() > 0
    assert program.state["1.num_batches_tracked"] == 1
    assert not torch.equal(before, program.logits(samples))


def test_probabilities_sum_to_one(program: CloudProgram, samples: Dataset) -> None:
    np.testing.assert_allclose(program.probabilities(samples).sum(axis=1), 1, rtol=1e-5)


def test_state_is_saved_and_restored(program: CloudProgram, samples: Dataset) -> None:
    saved, expected = program.save(), program.logits(samples)
    with torch.no_grad():
        for tensor in program.parameters.values():
            tensor += 1
    assert not torch.equal(program.logits(samples), expected)
    program.load(saved)
    assert torch.equal(program.logits(samples), expected)


def test_fixed_batch_is_refused() -> None:
    with pytest.raises(FixedBatch):
        try_cloud(torch.export.export(nn.Linear(4, 3), (torch.zeros(2, 4),)), CrossEntropy())


class RootOfZero(nn.Module):
    """Its outputs are finite, and the slope of its parameters is not."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x, self.weight.sqrt())


def test_model_without_a_finite_gradient_is_refused() -> None:
    with pytest.raises(NotTrainable):
        try_cloud(export_module(RootOfZero(), (torch.zeros(2, 4),)), CrossEntropy())
