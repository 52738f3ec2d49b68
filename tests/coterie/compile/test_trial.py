"""Models are tried on samples as real as can be known, and a refusal names what fails."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from coterie.cloud.trial import try_cloud
from coterie.compile.compiled import compile_model
from coterie.compile.errors import NotTrainable, SamplesMixed
from coterie.compile.program import export_module
from coterie.compile.ranges import ranges_of
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.synthetic import synthetic_batch
from coterie.compile.trial import try_training

WORDS, CLASSES = 20, 3


class Tables(nn.Module):
    """Looks its inputs up in tables of different size, one a place further, one a place before."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.users = nn.Embedding(WORDS, 4), nn.Embedding(7, 4)
        self.register_buffer("days", torch.rand(5, 4))
        self.head = nn.Linear(4, CLASSES)

    def forward(self, words: Tensor, user: Tensor, day: Tensor, count: Tensor) -> Tensor:
        found = self.words(words).mean(dim=1) + self.users(user + 2) + self.days[day - 1] + count.unsqueeze(1)
        logits: Tensor = self.head(found)
        return logits


def test_whole_numbers_are_those_that_tables_have_rows_for() -> None:
    example = (torch.ones(2, 6, dtype=torch.int64), *(torch.ones(2, dtype=torch.int64) for _ in range(3)))
    program = export_module(Tables(), example)
    assert ranges_of(program) == {"words": (0, WORDS - 1), "user": (-2, 4), "day": (1, 5)}
    compiled = compile_model(program, batch_size=200)
    inputs = synthetic_batch(compiled.spec, compiled.ranges).dataset.inputs
    assert set(np.unique(inputs["user"])) == {-2, -1, 1, 2, 3, 4}
    assert set(np.unique(inputs["day"])) == {1, 2, 3, 4, 5}
    assert set(np.unique(inputs["words"][::2])) == set(range(1, WORDS))
    assert not inputs["words"][1::2, 4:].any() and inputs["words"][1::2, :4].all()
    try_training(program, compiled)


class Masked(nn.Module):
    """Reads words under a mask that its caller gives, of what is there or of what is not."""

    def __init__(self, hides: bool) -> None:
        super().__init__()
        self.hides = hides
        self.words, self.head = nn.Embedding(WORDS, 4), nn.Linear(4, CLASSES)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, words: Tensor, mask: Tensor) -> Tensor:
        x, length = self.words(words), words.shape[1]
        causal = torch.full((length, length), -math.inf).triu(1)
        hidden = torch.zeros_like(mask, dtype=torch.float32).masked_fill(mask if self.hides else ~mask, -math.inf)
        scores = x @ x.mT + causal + hidden.unsqueeze(1)
        logits: Tensor = self.head((scores.softmax(dim=2) @ x).mean(dim=1))
        return logits


@pytest.mark.long
@pytest.mark.parametrize("hides", [True, False])
def test_truth_values_may_mean_what_is_there_or_what_is_not(hides: bool) -> None:
    example = (torch.ones(2, 6, dtype=torch.int64), torch.zeros(2, 6, dtype=torch.bool))
    program = export_module(Masked(hides), example)
    try_training(program, compile_model(program, batch_size=4))
    try_cloud(program, CrossEntropy())


class Odd(nn.Module):
    def __init__(self, take: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.take, self.first, self.head = take, nn.Linear(4, 4), nn.Linear(4, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.take(self.first(x)))
        return logits


def divided(x: Tensor) -> Tensor:
    return x / (x - x).sum(dim=1, keepdim=True)


def rooted(x: Tensor) -> Tensor:
    return x * torch.sqrt(torch.relu(-x.abs()))


@pytest.mark.parametrize(
    ("take", "words"),
    [
        (divided, r"operator aten\.div\.Tensor in .*test_trial\.py:\d+.*\.clamp\(min=1\)"),
        (rooted, r"gradients of first\.(weight|bias).* module 'first'.*root"),
    ],
)
def test_what_is_not_finite_is_told_with_its_place(take: Callable[[Tensor], Tensor], words: str) -> None:
    program = export_module(Odd(take), (torch.ones(2, 4),))
    with pytest.raises(NotTrainable, match=words) as caught:
        try_training(program, compile_model(program, batch_size=4))
    assert "x of numbers between 0 and 1" in str(caught.value)


def test_a_model_that_nothing_trains_is_told_why() -> None:
    class Rounded(Odd):
        def forward(self, x: Tensor) -> Tensor:
            return torch.round(self.head(self.first(x)))

    program = export_module(Rounded(torch.relu), (torch.ones(2, 4),))
    with pytest.raises(NotTrainable, match=r"changes no parameter.*\.detach\(\), argmax, round"):
        try_training(program, compile_model(program, batch_size=4))


class AttentionOverSamples(nn.Module):
    """Its samples come first, and the layer takes them for the words of one sentence."""

    def __init__(self, *, batch_first: bool) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=batch_first)
        self.head = nn.Linear(4, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.layer(x).mean(dim=1))
        return logits


@pytest.mark.parametrize(
    ("module", "place"),
    [
        (Odd(lambda x: x - x.mean(dim=0)), r"test_trial\.py:\d+.*self\.take"),
        (Odd(lambda x: x / x.shape[0]), r"test_trial\.py:\d+.*self\.take"),
        (AttentionOverSamples(batch_first=False), r"module 'layer.*batch_first=True"),
    ],
)
def test_a_model_that_looks_at_other_samples_is_refused_with_the_place(module: nn.Module, place: str) -> None:
    example = torch.rand(2, 3, 4) if isinstance(module, AttentionOverSamples) else torch.rand(2, 4)
    program = export_module(module, (example,))
    with pytest.raises(SamplesMixed, match=place) as caught:
        try_training(program, compile_model(program, batch_size=4))
    assert caught.value.code == "compile.samples_mixed"


def test_statistics_of_batches_that_are_kept_are_no_mixture() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, CLASSES))
    for tried in (module, AttentionOverSamples(batch_first=True)):
        example = torch.rand(2, 3, 4) if isinstance(tried, AttentionOverSamples) else torch.rand(2, 4)
        program = export_module(tried, (example,))
        try_training(program, compile_model(program, batch_size=4))
