"""Programs without numbers: what is left in the file is found there again, row by row."""

import warnings
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from coterie.compile.errors import MalformedUpload
from coterie.compile.program import export_module
from coterie.compile.upload import load_upload, load_without_weights


class Model(nn.Module):
    """With weights that two layers share, one in another order, a number, statistics and a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 6)
        self.norm = nn.BatchNorm1d(6)
        self.turned = nn.Parameter(torch.randn(6, 4).t())
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.head = nn.Linear(4, 3)
        self.tied = nn.Linear(4, 6)
        self.tied.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm(self.first(x)) + self.tied(x)
        found: Tensor = self.head(self.scale * hidden @ self.turned.t())
        return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="No complete tensor found")  # of the one in another order
        torch.export.save(export_module(Model(), (torch.zeros(2, 4),)), tmp_path / "cloud.pt2")
    return tmp_path / "cloud.pt2"


def test_parameters_have_no_numbers_until_their_rows_are_read(path: Path) -> None:
    whole, hollow = load_upload(path).state_dict, load_without_weights(path)
    assert {"first.bias", "head.weight", "head.bias", "norm.weight", "norm.bias"} <= hollow.stored.keys()
    for name in hollow.stored:
        assert hollow.program.state_dict[name].is_meta
        size = len(whole[name])
        assert torch.equal(hollow.rows(name, 0, size), whole[name])
        assert torch.equal(hollow.rows(name, 1, size), whole[name][1:])
        assert len(hollow.rows(name, size, size)) == 0


def test_what_is_no_range_of_bytes_of_its_own_is_there_as_usual(path: Path) -> None:
    whole, hollow = load_upload(path).state_dict, load_without_weights(path)
    there = whole.keys() - hollow.stored.keys()
    assert {"first.weight", "tied.weight", "turned", "scale", "norm.running_mean"} <= there
    for name in there:
        assert torch.equal(hollow.program.state_dict[name], whole[name])


def test_the_program_is_the_same(path: Path) -> None:
    hollow, whole = load_without_weights(path), load_upload(path)
    assert hollow.program.graph_module.code == whole.graph_module.code
    assert hollow.program.graph_signature == whole.graph_signature


def test_a_damaged_archive_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(MalformedUpload):
        load_without_weights(path)
