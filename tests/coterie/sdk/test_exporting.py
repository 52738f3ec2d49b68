"""Modules as files."""

from pathlib import Path

import torch
from torch import Tensor, nn

from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.signature import check_signature
from coterie.compile.upload import load_upload
from coterie.sdk.exporting import write_programs
from coterie_wire.length import Length

SENTENCES = Length(1, 9, {"words": 0})


class Bag(nn.Module):
    """The mean of words, of which 0 is none, beside other numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 4, padding_idx=0)
        self.head = nn.Linear(6, 3)

    def forward(self, beside: Tensor, words: Tensor) -> Tensor:
        count = (words != 0).sum(dim=1, keepdim=True).clamp(min=1)
        logits: Tensor = self.head(torch.cat([beside, self.embedding(words).sum(dim=1) / count], dim=1))
        return logits


def test_samples_may_differ_in_the_length_of_an_argument(tmp_path: Path) -> None:
    example = (torch.zeros(1, 2), torch.zeros(1, 5, dtype=torch.int64))
    models = {"device": Bag(), "cloud": Bag()}
    paths = write_programs(tmp_path, models, example, length=SENTENCES, loss=None, target=None, show=lambda _: None)
    for role in models:
        signature = check_signature(load_upload(paths[role]), CrossEntropy())
        assert signature.length == SENTENCES
        assert str(signature) == "float32 [2], int64 [1 to 9] to [3]"


def test_a_module_is_left_in_the_mode_that_it_is_in(tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 2)).eval()
    module[2].train()
    modes = [part.training for part in module.modules()]
    targets = torch.zeros(2, dtype=torch.int64)
    paths = write_programs(
        tmp_path, {"device": module}, torch.zeros(2, 3), loss=_surprise, target=targets, show=lambda _: None
    )
    assert [part.training for part in module.modules()] == modes
    operators = {str(node.target) for node in load_upload(paths["device"]).graph.nodes}
    assert any("dropout" in one for one in operators), "it was traced as it trains"


def _surprise(output: Tensor, target: Tensor) -> Tensor:
    return nn.functional.cross_entropy(output, target, reduction="none")
