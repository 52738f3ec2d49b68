"""Samples of different length: the graphs follow PyTorch at every length, and what would not is refused."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

from coterie.cloud.preflight import preflight_stored
from coterie.cloud.preflight_job import PairMismatch, PreflightArguments
from coterie.compile.compiled import CompiledModel, compile_model
from coterie.compile.errors import (
    LengthBecameConstant,
    LossMismatch,
    PaddingCounts,
    UnboundedLength,
    UnsupportedOperator,
    UnsupportedSignature,
)
from coterie.compile.gradients import convolution
from coterie.compile.program import export_module
from coterie.compile.recipe import Recipe
from coterie.compile.recipe.loss import Loss
from coterie.compile.recipe.loss.mean_squared_error import MeanSquaredError
from coterie.compile.recipe.loss.next_token import NextToken
from coterie.compile.trial import try_training
from coterie.core.errors import CoterieError
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import open_session, predict_logits
from coterie.evaluation.train_step import DeviceSteps
from coterie_wire.length import Length
from tests.coterie.compile import test_zoo
from tests.coterie.compile.test_zoo import assert_standard
from tests.zoo.entry import Entry, Indices, Numbers, Sentences
from tests.zoo.models import OF_ANY_LENGTH, SMALL_OF_ANY_LENGTH
from tests.zoo.reference import OPTIMISERS, InPyTorch, batch_of, uploaded

BATCH, EXAMPLE = 8, 5
WORDS = 20


def compiled(entry: Entry, optimiser: str = "momentum") -> CompiledModel:
    return compiled_once(entry, optimiser)


@functools.cache
def compiled_once(entry: Entry, optimiser: str) -> CompiledModel:
    recipe = Recipe(loss=entry.loss, optimiser=OPTIMISERS[optimiser].kind, clipping=True)
    return compile_model(uploaded_once(entry), recipe, batch_size=BATCH)


@functools.cache
def uploaded_once(entry: Entry) -> torch.export.ExportedProgram:
    return uploaded(export_module(entry.built(), entry.samples(2, 0, EXAMPLE), entry.length))


def follow(entry: Entry, steps: int, optimiser: str = "momentum") -> None:
    """Take the same steps on both sides, each of another length, and predict."""
    assert entry.length is not None
    paired, module = OPTIMISERS[optimiser], entry.built()
    weights = paired.weights(entry)
    model = compiled(entry, optimiser)
    for graph in (model.train_step, model.predict):
        assert_standard(graph)
    device, in_pytorch = DeviceSteps(model.train_step, model.spec), InPyTorch(module, paired, weights, entry.loss)
    training, many = device.begin(model.parameters), entry.length.longest - entry.length.shortest + 1
    for number in range(steps):
        batch = batch_of(entry, model, BATCH - number % 3, number, entry.length.shortest + 5 * number % many)
        training, loss, _ = device.step(training, batch, weights, model.parameters)
        assert loss == pytest.approx(in_pytorch.step(batch, clip=True), rel=1e-5)
    assert in_pytorch.distance(training.parameters) < 1e-5
    session = open_session(model.predict)
    for length in (entry.length.shortest, EXAMPLE, entry.length.longest):
        batch = batch_of(entry, model, 3, 99, length)
        samples = [torch.from_numpy(array) for array in batch.dataset.inputs.values()]
        with torch.no_grad():
            wanted = module.eval()(*samples).numpy()
        np.testing.assert_allclose(
            predict_logits(session, training.parameters, batch.dataset), wanted, rtol=1e-4, atol=1e-5
        )


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        # It has no operator that the published decoder and reader have not.
        pytest.param(name, marks=pytest.mark.zoo if name == "causal_transformer" else ())
        for name in SMALL_OF_ANY_LENGTH
    ],
)
def test_small_model_follows_pytorch_at_every_length(name: str) -> None:
    follow(SMALL_OF_ANY_LENGTH[name], 18)


class BothWays(nn.Module):
    """Reads words from both ends, in two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 4)
        self.layers = nn.GRU(4, 3, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(6, 3)

    def forward(self, words: Tensor) -> Tensor:
        states, _ = self.layers(self.embedding(words))
        logits: Tensor = self.head(states.mean(dim=1))
        return logits


@pytest.mark.long
def test_layers_that_read_both_ways_follow_pytorch_at_every_length() -> None:
    follow(Entry(BothWays, (Indices((9,), WORDS),), 3, length=Length(1, 9, {"words": 0})), 9)


@pytest.mark.zoo
@pytest.mark.parametrize(
    ("name", "optimiser"), [("causal_transformer", "adamw"), ("encoder", "momentum"), ("gru", "adam")]
)
def test_model_follows_pytorch_for_a_hundred_steps_of_every_length(name: str, optimiser: str) -> None:
    follow(OF_ANY_LENGTH[name], 100, optimiser)


class OfWords(nn.Module):
    """Does `take` to embedded words [batch, length, 4], of which 0 is padding, and tells three classes apart."""

    def __init__(self, take: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.take = take
        self.embedding = nn.Embedding(WORDS, 4)
        self.head = nn.Linear(4, 3)

    def forward(self, words: Tensor) -> Tensor:
        present = (words != 0).unsqueeze(-1).to(torch.float32)
        logits: Tensor = self.head(self.take(self.embedding(words), present))
        return logits


@functools.cache
def of_words(take: Callable[[Tensor, Tensor], Tensor], shortest: int = 1) -> Entry:
    return Entry(lambda: OfWords(take), (Sentences((9,), WORDS),), 3, length=Length(shortest, 9, {"words": 0}))


TABLE = torch.linspace(-1, 1, 9 * 4).reshape(9, 4).sin()

POOLED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mean": lambda x, present: (x * present).sum(dim=1) / present.sum(dim=1).clamp(min=1),
    "plain mean": lambda x, present: (x * present).mean(dim=1),
    "share": lambda x, present: (x * present).sum(dim=1) / x.shape[1],
    "maximum": lambda x, present: torch.where(present > 0, x, -1e9).amax(dim=1),
    "first": lambda x, _: x[:, 0],
    "last": lambda x, _: x[:, -1],
    "flipped": lambda x, present: (x.flip(1) * present.flip(1).cumsum(1)).sum(dim=1),
    "places": lambda x, present: (x * present * torch.arange(x.shape[1]).unsqueeze(1)).sum(dim=1),
    "positions": lambda x, present: ((x + TABLE[: x.shape[1]]).tanh() * present).sum(dim=1),
    "repeated": lambda x, present: (torch.ones(4).repeat(x.shape[0], x.shape[1], 1) * x.sin() * present).sum(dim=1),
    "normalised": lambda x, present: (nn.functional.layer_norm(x, (4,)) * present).sum(dim=1),
    "normalised in groups": lambda x, present: (nn.functional.group_norm(x.mT, 2) * present.mT).sum(dim=2),
    "spread": lambda x, present: (x * present).var(dim=1, correction=0),
    "shifted": lambda x, present: (nn.functional.pad(x, (0, 0, 1, 0))[:, :-1] * x * present).sum(dim=1),
    "joined": lambda x, present: torch.cat([x * present, x.tanh() * present], dim=1).sum(dim=1),
    "softmax": lambda x, present: (
        torch.softmax(torch.where(present > 0, x.sum(dim=2, keepdim=True), -1e9), dim=1) * x
    ).sum(dim=1),
}


IN_EVERY_RUN = ("mean", "positions", "spread", "shifted")


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in IN_EVERY_RUN else pytest.mark.zoo) for name in POOLED]
)
def test_pooling_over_the_length_follows_pytorch(name: str) -> None:
    follow(of_words(POOLED[name]), 9)


class Convolved(nn.Module):
    """Convolutions along the words, whose gaps are masked after each."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 4)
        self.first = nn.Conv1d(4, 8, 3, padding=1)
        self.second = nn.Conv1d(8, 8, 3, padding=2, dilation=2)
        self.head = nn.Linear(8, 3)

    def forward(self, words: Tensor) -> Tensor:
        present = (words != 0).unsqueeze(1).to(torch.float32)
        x = torch.relu(self.first(self.embedding(words).transpose(1, 2) * present)) * present
        x = torch.relu(self.second(x)) * present
        logits: Tensor = self.head(x.amax(dim=2))
        return logits


@pytest.mark.parametrize("floats", [convolution.MAX_PATCH_FLOATS, 500], ids=["at once", "in parts"])
@pytest.mark.long
def test_convolutions_along_the_length_follow_pytorch(floats: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolution, "MAX_PATCH_FLOATS", floats)
    monkeypatch.setattr(convolution, "MAX_SHARED_FLOATS", floats)
    follow(Entry(Convolved, (Sentences((30,), WORDS),), 3, length=Length(1, 30, {"words": 0})), 9)


class LookingBack(nn.Module):
    """Sees the word eight places before each (van den Oord et al. 2016, arXiv 1609.03499, section 2.1)."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 8)
        self.layer = nn.Conv1d(8, 8, 2, dilation=8)
        self.head = nn.Linear(8, WORDS)

    def forward(self, words: Tensor) -> Tensor:
        x = self.embedding(words).transpose(1, 2)
        logits: Tensor = self.head(torch.tanh(self.layer(nn.functional.pad(x, (8, 0)))).transpose(1, 2))
        return logits


@pytest.mark.long
def test_wide_convolutions_along_the_length_follow_pytorch() -> None:
    follow(Entry(LookingBack, (Indices((12,), WORDS),), WORDS, NextToken(), length=Length(2, 12, {"words": 0})), 6)


def test_channels_by_length_follow_pytorch() -> None:
    """A signal has its length last; a mask comes as an input of its own."""
    entry = Entry(Signal, (Numbers((2, 9)), Numbers((3,))), 3, length=Length(3, 9, {"signal": 1}))
    program = export_module(entry.built(), (torch.zeros(2, 2, 5), torch.zeros(2, 3)), entry.length)
    model = compile_model(program, batch_size=BATCH)
    assert [spec.shape for spec in model.spec.inputs] == [(2, 9), (3,)]
    module = entry.built()
    session = open_session(model.predict)
    parameters = {f"param.{name}": tensor for name, tensor in model.parameters.items()}
    for length in (3, 4, 9):
        signal, beside = torch.randn(2, 2, length), torch.randn(2, 3)
        (found,) = session.run(None, {"signal": signal.numpy(), "beside": beside.numpy(), **parameters})
        np.testing.assert_allclose(found, module(signal, beside).detach().numpy(), rtol=1e-5, atol=1e-6)


class Signal(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(5, 3)

    def forward(self, signal: Tensor, beside: Tensor) -> Tensor:
        logits: Tensor = self.head(torch.cat([signal.square().mean(dim=2), beside], dim=1))
        return logits


def test_the_contract_names_the_length() -> None:
    model = compiled(SMALL_OF_ANY_LENGTH["lstm"])
    assert model.spec.length == Length(1, 9, {"words": 0, "target": 0, "logits": 0})
    assert (model.spec.inputs[0].shape, model.spec.target.shape) == ((9,), (9,))
    graph = onnx.load_from_string(model.train_step).graph
    dims = {
        value.name: [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim]
        for value in graph.input
    }
    assert dims["words"] == dims["target"] == [BATCH, "length"]


def test_a_pair_goes_through_the_pre_flight_from_its_files(tmp_path: Path) -> None:
    """A teacher speaks of samples of every length, too."""
    entry = of_words(POOLED["mean"])
    for name in ("device", "cloud"):
        program = export_module(entry.built(), entry.samples(2, 0, EXAMPLE), entry.length)
        torch.export.save(program, tmp_path / f"{name}.pt2")
    paths = {
        name: str(tmp_path / f"{name}.pt2" if name in ("device", "cloud") else tmp_path / name)
        for name in ("device", "cloud", "train_step", "predict", "parameters", "frozen", "teacher")
    }
    arguments = PreflightArguments(**paths, batch_size=BATCH, labels=("a", "b", "c"), recipe={})
    result = preflight_stored(arguments, lambda _: None)
    assert result.model.length == entry.length
    assert result.teacher is not None
    teacher = open_session((tmp_path / "teacher").read_bytes())
    predict = open_session((tmp_path / "predict").read_bytes())
    state = torch.export.load(tmp_path / "device.pt2").state_dict
    parameters = {name: state[name].detach().numpy() for name in (spec.name for spec in result.model.version)}
    for length in (1, 4, 9):
        (words,) = entry.samples(3, 1, length)
        dataset = Dataset({"words": words.numpy()}, np.zeros(3, np.int64))
        said = predict_logits(predict, parameters, dataset)
        np.testing.assert_allclose(predict_logits(teacher, parameters, dataset), said, rtol=1e-5, atol=1e-6)


def test_models_of_a_pair_take_samples_of_the_same_lengths(tmp_path: Path) -> None:
    entry = of_words(POOLED["mean"])
    for name, length in (("device", entry.length), ("cloud", None)):
        torch.export.save(export_module(entry.built(), entry.samples(2, 0), length), tmp_path / f"{name}.pt2")
    paths = {name: str(tmp_path / name) for name in ("train_step", "predict", "parameters", "frozen", "teacher")}
    models = {name: str(tmp_path / f"{name}.pt2") for name in ("device", "cloud")}
    arguments = PreflightArguments(**models, **paths, batch_size=BATCH, labels=("a", "b", "c"), recipe={})
    with pytest.raises(PairMismatch, match="1 to 9"):
        preflight_stored(arguments, lambda _: None)


def test_compiling_twice_gives_the_same_bytes() -> None:
    entry = of_words(POOLED["mean"])
    assert compiled(entry).train_step == compiled(dataclasses.replace(entry)).train_step


class WithDropout(nn.Module):
    """Drops between its recurrent layers and in its attention, too."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 4)
        self.recurrent = nn.GRU(4, 4, num_layers=2, dropout=0.3, batch_first=True)
        self.attention = nn.MultiheadAttention(4, 2, dropout=0.3, batch_first=True)
        self.dropout = nn.Dropout(0.3)
        self.head = nn.Linear(4, 3)

    def forward(self, words: Tensor) -> Tensor:
        x, padding = self.recurrent(self.embedding(words))[0], words == 0
        found, _ = self.attention(x, x, x, key_padding_mask=padding, need_weights=False)
        logits: Tensor = self.head(torch.where(padding.unsqueeze(-1), 0.0, self.dropout(found)).sum(dim=1))
        return logits


@pytest.mark.long
def test_dropout_is_drawn_for_every_length() -> None:
    """Another mask at each step, the same again from the same seed."""
    entry = Entry(WithDropout, (Sentences((9,), WORDS),), 3, length=Length(2, 9, {"words": 0}))
    model = compiled(entry)
    assert model.spec.seeded
    losses = []
    for _ in range(2):
        steps = DeviceSteps(model.train_step, model.spec, seed=3)
        training = steps.begin(model.parameters)
        for length in (4, 4, 9):
            batch = batch_of(entry, model, BATCH, 0, length)
            training, loss, _ = steps.step(training, batch, OPTIMISERS["momentum"].weights(entry))
            losses.append(loss)
    assert losses[:3] == losses[3:]
    assert np.isfinite(losses).all()


@pytest.mark.parametrize("name", ["mean", "maximum", "softmax", "positions"])
def test_model_that_knows_its_padding_passes_the_trial(name: str) -> None:
    entry = of_words(POOLED[name])
    try_training(uploaded_once(entry), compiled(entry))


@pytest.mark.parametrize("name", ["plain mean", "share", "last"])
def test_model_that_counts_padding_is_refused_with_its_line(name: str) -> None:
    entry = of_words(POOLED[name])
    with pytest.raises(PaddingCounts, match=r"test_lengths\.py:\d+: logits.*self\.take.*words != 0"):
        try_training(uploaded_once(entry), compiled(entry))


@pytest.mark.long
def test_a_layer_that_reads_backwards_over_padding_is_named() -> None:
    entry = Entry(BothWays, (Indices((9,), WORDS),), 3, length=Length(1, 9, {"words": 0}))
    told = r"module 'layers', at .*pack_padded_sequence.*without a length and fill each sample up"
    with pytest.raises(PaddingCounts, match=told) as caught:
        try_training(uploaded_once(entry), compiled(entry))
    assert caught.value.fields["module"] == "layers"


class AttendedBothWays(nn.Module):
    """Attention to words that are there, after layers that read all, what fills them up included."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 4, padding_idx=0)
        self.layers = nn.GRU(4, 3, bidirectional=True, batch_first=True)
        self.scores, self.head = nn.Linear(6, 1), nn.Linear(6, 3)

    def forward(self, words: Tensor) -> Tensor:
        states, _ = self.layers(self.embedding(words))
        weights = self.scores(states).squeeze(-1).masked_fill(words == 0, -torch.inf).softmax(dim=1)
        logits: Tensor = self.head((weights.unsqueeze(1) @ states).squeeze(1))
        return logits


@pytest.mark.long
def test_a_layer_that_reads_backwards_over_what_fills_up_is_pytorchs_where_samples_are_of_one_size() -> None:
    """What a padded batch begins with backwards depends on the batch, unless who made the samples filled them up."""
    entry = Entry(AttendedBothWays, (Sentences((9,), WORDS),), 3)
    found = test_zoo.prepared(entry)
    try_training(*found)
    test_zoo.follow_compiled(entry, found.model, steps=9)


@pytest.mark.parametrize(
    ("take", "error"),
    [
        (lambda x, _: x.sum(dim=1) if x.shape[1] < 7 else x.amax(dim=1), LengthBecameConstant),
        (lambda x, _: sum(x[:, place] for place in range(x.shape[1])), LengthBecameConstant),
        (lambda x, _: nn.functional.adaptive_max_pool1d(x.transpose(1, 2), 2).sum(dim=2), UnsupportedOperator),
    ],
    ids=["a question", "a loop", "windows"],
)
def test_what_holds_for_some_lengths_only_is_refused(
    take: Callable[[Tensor, Tensor], Tensor], error: type[CoterieError]
) -> None:
    with pytest.raises(error, match=r"for some lengths|dynamic"):
        compiled(of_words(take))


def test_statistics_over_padding_are_refused() -> None:
    norm = nn.BatchNorm1d(4)

    class Normalised(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.norm, self.head = nn.Embedding(WORDS, 4), norm, nn.Linear(4, 3)

        def forward(self, words: Tensor) -> Tensor:
            logits: Tensor = self.head(self.norm(self.embedding(words).transpose(1, 2)).sum(dim=2))
            return logits

    entry = Entry(Normalised, (Sentences((9,), WORDS),), 3, length=Length(1, 9, {"words": 0}))
    with pytest.raises(UnsupportedOperator, match="LayerNorm"):
        compiled(entry)


class Each(nn.Module):
    """A number of logits for each word."""

    def __init__(self, many: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, many)
        self.head = nn.Linear(many, many)

    def forward(self, words: Tensor) -> Tensor:
        logits: Tensor = self.head(self.embedding(words))
        return logits


@pytest.mark.parametrize(
    ("loss", "error", "words"),
    [
        (MeanSquaredError(), LossMismatch, r"\[batch, length, 4\]"),
        (NextToken(padding=4), UnsupportedSignature, "vocabulary of 4"),
    ],
)
def test_only_the_loss_of_tokens_knows_where_a_sequence_ends(loss: Loss, error: type[CoterieError], words: str) -> None:
    entry = Entry(lambda: Each(4), (Sentences((9,), WORDS),), 4, loss, length=Length(1, 9, {"words": 0}))
    with pytest.raises(error, match=words):
        compiled(entry)


def program_of(dims: dict[int, torch.export.Dim]) -> torch.export.ExportedProgram:
    shapes = {0: torch.export.Dim("batch", min=1), **dims}
    return torch.export.export(Each(4), (torch.zeros(2, 5, dtype=torch.int64),), dynamic_shapes=(shapes,))


def test_length_without_bound_is_refused() -> None:
    with pytest.raises(UnboundedLength, match="max="):
        compile_model(program_of({1: torch.export.Dim("length", min=1)}), Recipe(loss=NextToken()), batch_size=2)


def test_two_lengths_are_refused() -> None:
    batch, first, second = (torch.export.Dim(name, min=1, max=9) for name in ("batch", "first", "second"))
    example = (torch.zeros(2, 5), torch.zeros(2, 6))
    program = torch.export.export(Both(), example, dynamic_shapes=({0: batch, 1: first}, {0: batch, 1: second}))
    with pytest.raises(UnsupportedSignature, match="dynamic"):
        compile_model(program, batch_size=2)


class Both(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(2, 3)

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        logits: Tensor = self.head(torch.stack([one.sum(dim=1), other.sum(dim=1)], dim=1))
        return logits
