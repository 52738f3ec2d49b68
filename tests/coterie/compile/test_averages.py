"""Averages that a model keeps in its buffers travel as running statistics, and others of its changes are refused."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from coterie.cloud.program import CloudProgram
from coterie.compile.compiled import CompiledModel, compile_model, compile_prediction
from coterie.compile.errors import MutatedState
from coterie.compile.program import export_module
from coterie.compile.recipe import Recipe
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.recipe.trains.named import Named
from coterie.compile.trial import try_training
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import open_session, predict_logits
from coterie.evaluation.train_step import Batch, DeviceSteps
from coterie_learning.local import StepScalars
from tests.zoo.reference import uploaded

BATCH, FEATURES, CLASSES = 6, 4, 3


class Centred(nn.Module):
    """Takes from samples their mean of late, which it keeps as a vector, a table and a number, each in its own way."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(FEATURES, CLASSES)
        self.register_buffer("centre", torch.zeros(FEATURES))
        self.register_buffer("pairs", torch.zeros(2, 2))
        self.register_buffer("level", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            with torch.no_grad():
                self.centre.mul_(0.9).add_(0.1 * x.mean(dim=0))
                self.pairs.lerp_(x.mean(dim=0).reshape(2, 2), 0.2)
                self.level = 0.5 * self.level + 0.5 * x.mean()
        logits: Tensor = self.head(x - self.centre) + self.pairs.sum() + self.level
        return logits


@pytest.fixture(scope="module")
def program() -> torch.export.ExportedProgram:
    torch.manual_seed(0)
    return uploaded(export_module(Centred(), (torch.zeros(2, FEATURES),)))


@pytest.fixture(scope="module")
def model(program: torch.export.ExportedProgram) -> CompiledModel:
    return compile_model(program, Recipe(distillation=False), batch_size=BATCH)


def batch_of(count: int, seed: int) -> Batch:
    rng = np.random.default_rng(seed)
    x = rng.normal(1, 1, (count, FEATURES)).astype(np.float32)
    return Batch(Dataset({"x": x}, rng.integers(0, CLASSES, count)))


def test_averages_follow_pytorch_and_stay_over_short_batches(
    program: torch.export.ExportedProgram, model: CompiledModel
) -> None:
    try_training(program, model)
    torch.manual_seed(0)
    module = Centred()
    steps, reference = DeviceSteps(model.train_step, model.spec), torch.optim.SGD(module.parameters(), lr=0.1)
    training = steps.begin(model.parameters)
    for number in range(10):
        batch = batch_of(BATCH, number)
        training, loss, _ = steps.step(training, batch, StepScalars(0.1))
        x, target = torch.from_numpy(batch.dataset.inputs["x"]), torch.from_numpy(batch.dataset.labels)
        found = nn.functional.cross_entropy(module(x), target)
        reference.zero_grad()
        torch.autograd.backward(found)
        reference.step()
        assert loss == pytest.approx(found.item(), rel=1e-5)
    for name, buffer in module.named_buffers():
        np.testing.assert_allclose(training.parameters[name], buffer.numpy().ravel(), rtol=1e-5)
        assert not training.parameters[f"{name}.variance"].any()
    short = steps.step(training, batch_of(BATCH - 1, 99), StepScalars(0.1)).training.parameters
    for name, _ in module.named_buffers():
        assert np.array_equal(short[name], training.parameters[name])
    assert not np.array_equal(short["head.weight"], training.parameters["head.weight"])
    samples = batch_of(5, 50).dataset
    with torch.no_grad():
        wanted = module.eval()(torch.from_numpy(samples.inputs["x"])).numpy()
    logits = predict_logits(open_session(model.predict), training.parameters, samples)
    np.testing.assert_allclose(logits, wanted, rtol=1e-4, atol=1e-5)


def test_a_cloud_model_keeps_its_averages_in_service(program: torch.export.ExportedProgram) -> None:
    cloud, samples = CloudProgram(program), batch_of(BATCH, 0).dataset
    cloud.train_logits([torch.from_numpy(samples.inputs["x"])])
    before = {name: tensor.clone() for name, tensor in cloud.state.items()}
    assert before["centre"].any() and before["level"].any()
    once, again = cloud.logits(samples), cloud.logits(samples)
    assert torch.equal(once, again)
    assert all(torch.equal(before[name], tensor) for name, tensor in cloud.state.items())
    names = [spec.name for spec in compile_prediction(program, CrossEntropy()).parameters]
    assert {"centre", "pairs", "level"} < set(names)


def test_averages_of_what_is_not_trained_stay_as_they_came(program: torch.export.ExportedProgram) -> None:
    fixed = compile_model(program, Recipe(trains=Named(names=("head.*", "centre"))), batch_size=BATCH)
    assert [pair.mean.name for pair in fixed.spec.statistics] == ["centre"]


def count(module: nn.Module, x: Tensor) -> Tensor:
    module.seen += 1
    return x * module.seen


def in_part(module: nn.Module, x: Tensor) -> Tensor:
    module.first[0].mul_(0.9)
    return x * module.first[0]


def of_an_input(_: nn.Module, x: Tensor) -> Tensor:
    return x.mul_(2)


@pytest.mark.parametrize(
    ("take", "name"), [(count, "seen"), (in_part, "first"), (of_an_input, "x")], ids=["a count", "a part", "an input"]
)
def test_what_is_no_average_is_refused_with_what_to_write(
    take: Callable[[nn.Module, Tensor], Tensor], name: str
) -> None:
    class Changing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(FEATURES, CLASSES)
            self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
            self.register_buffer("first", torch.ones(2))

        def forward(self, x: Tensor) -> Tensor:
            logits: Tensor = self.head(take(self, x))
            return logits

    with pytest.raises(MutatedState, match=r"float32.*no part of a buffer") as caught:
        compile_model(export_module(Changing(), (torch.zeros(2, FEATURES),)), batch_size=2)
    assert caught.value.fields["name"] == name
    assert "head(take(self, x))" in str(caught.value.fields["line"])
