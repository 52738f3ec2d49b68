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
    paths = write_programs(tmp_path, models, example, length=SENTENCES, loss=None, target=None, tell=lambda _: None)
    for role in models:
        signature = check_signature(load_upload(paths[role]), CrossEntropy())
        assert signature.length == SENTENCES
        assert str(signature) == "float32 [2], int64 [1 to 9] to [3]"
