"""What beside plain parameters a train step may have: running statistics, noise, frozen parts and adapters."""

import copy
from collections.abc import Mapping

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from coterie.compile.compiled import CompiledModel, compile_model, compile_prediction
from coterie.compile.errors import NothingTrains
from coterie.compile.program import export_module
from coterie.compile.recipe import Recipe
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.recipe.optimiser.adam import Adam
from coterie.compile.recipe.optimiser.sgd import Sgd
from coterie.compile.recipe.trains.adapters import Adapters
from coterie.compile.recipe.trains.named import Named
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import open_session, predict_logits
from coterie.evaluation.train_step import Batch, DeviceSteps
from coterie_learning.local import StepScalars
from coterie_learning.random import step_seed

BATCH, CLASSES = 6, 3
PLAIN = Sgd(momentum="none")


@pytest.fixture(autouse=True)
def same_models() -> None:
    torch.manual_seed(0)


def compiled(module: nn.Module, *shape: int, recipe: Recipe | None = None) -> CompiledModel:
    return compile_model(export_module(module, (torch.zeros(2, *shape),)), recipe, batch_size=BATCH)


def batch_of(model: CompiledModel, count: int = BATCH, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    (spec,) = model.spec.inputs
    return Batch(
        Dataset({spec.name: rng.normal(1, 2, (count, *spec.shape)).astype(np.float32)}, rng.integers(0, CLASSES, count))
    )


def tensors_of(batch: Batch) -> tuple[Tensor, Tensor]:
    (inputs,) = batch.dataset.inputs.values()
    return torch.from_numpy(inputs), torch.from_numpy(batch.dataset.labels)


def normed() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, bias=False),
        nn.BatchNorm2d(4, momentum=0.2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16, 6),
        nn.BatchNorm1d(6, affine=False),
        nn.Linear(6, CLASSES),
    )


def test_running_statistics_equal_pytorchs_also_for_short_batches() -> None:
    module = normed()
    model = compiled(module, 1, 4, 4)
    names = [tensor.name for pair in model.spec.statistics for tensor in (pair.mean, pair.variance)]
    assert names == ["1.running_mean", "1.running_var", "5.running_mean", "5.running_var"]
    steps, optimiser = DeviceSteps(model.train_step, model.spec), torch.optim.SGD(module.parameters(), lr=0.05)
    training = steps.begin(model.parameters)
    for number in range(30):
        batch = batch_of(model, BATCH - number % 3, number)
        training, loss, _ = steps.step(training, batch, StepScalars(0.05))
        inputs, target = tensors_of(batch)
        optimiser.zero_grad()
        expected = functional.cross_entropy(module(inputs), target)
        expected.backward()
        optimiser.step()
        assert loss == pytest.approx(expected.item(), rel=1e-4)
    for name, tensor in module.state_dict().items():
        if name in training.parameters:
            np.testing.assert_allclose(training.parameters[name], tensor.numpy(), rtol=1e-4, atol=1e-6)
    batch = batch_of(model, 4, 99)
    logits = predict_logits(open_session(model.predict), training.parameters, batch.dataset)
    np.testing.assert_allclose(logits, module.eval()(tensors_of(batch)[0]).detach().numpy(), rtol=1e-3, atol=1e-5)


def test_batch_without_weight_gathers_nothing() -> None:
    model = compiled(normed(), 1, 4, 4)
    session = open_session(model.train_step)
    feed = {
        value.name: np.zeros(value.shape, np.int64 if "int64" in value.type else np.float32)
        for value in session.get_inputs()
    }
    feed["state.1.running_mean"] = np.arange(4, dtype=np.float32)
    results = dict(zip([output.name for output in session.get_outputs()], session.run(None, feed), strict=True))
    np.testing.assert_array_equal(results["next.state.1.running_mean"], np.arange(4))


def test_statistics_of_what_is_frozen_stay_as_they_came() -> None:
    model = compiled(normed(), 1, 4, 4, recipe=Recipe(optimiser=PLAIN, trains=Named(names=("6.*",))))
    assert model.spec.statistics == ()
    assert [spec.name for spec in model.spec.parameters] == ["6.weight", "6.bias"]
    assert model.spec.head is not None


def test_a_teacher_takes_statistics_among_its_parameters() -> None:
    module = normed()
    prediction = compile_prediction(export_module(module, (torch.zeros(2, 1, 4, 4),)), CrossEntropy())
    state = {spec.name: module.state_dict()[spec.name].numpy() for spec in prediction.parameters}
    images = torch.randn(3, 1, 4, 4)
    feed = {prediction.signature.inputs[0].name: images.numpy()}
    feed |= {f"param.{name}": tensor for name, tensor in state.items()}
    (logits,) = open_session(prediction.predict).run(None, feed)
    np.testing.assert_allclose(logits, module.eval()(images).detach().numpy(), rtol=1e-4, atol=1e-5)


def noisy(size: int = 400) -> CompiledModel:
    """Logits of the inputs that dropout leaves; their scale is what the gradients show."""
    module = nn.Sequential(nn.Dropout(0.25), nn.Linear(size, CLASSES))
    return compiled(module, size, recipe=Recipe(optimiser=PLAIN))


def kept(model: CompiledModel, seed: int, steps: int = 0) -> np.ndarray:
    """Which inputs of a batch of ones a step saw, [batch, inputs]: only they move the weights of their rows."""
    size = model.spec.inputs[0].shape[0]
    session = DeviceSteps(model.train_step, model.spec, seed=seed)
    found = []
    for row in range(BATCH):
        ones = np.zeros((BATCH, size), np.float32)
        ones[row] = 1
        training = session.begin(model.parameters)._replace(steps=steps)
        dataset = Dataset({model.spec.inputs[0].name: ones}, np.zeros(BATCH, np.int64))
        after = session.step(training, Batch(dataset), StepScalars(1.0)).training.parameters["1.weight"]
        found.append(np.any(after != model.parameters["1.weight"], axis=0))
    return np.array(found)


def test_dropout_is_a_function_of_the_seed_and_the_step() -> None:
    model = noisy()
    assert model.spec.seeded
    first = kept(model, 7)
    np.testing.assert_array_equal(first, kept(noisy(), 7))
    for other in (kept(model, 8), kept(model, 7, steps=1)):
        # Independent masks agree where both keep or both drop: 0.75² + 0.25².
        assert np.mean(first == other) == pytest.approx(0.625, abs=0.05)


def test_dropout_keeps_its_share_without_pattern() -> None:
    masks = np.array([kept(noisy(), seed).astype(float) for seed in range(2)])
    assert masks.mean() == pytest.approx(0.75, abs=0.02)
    centred = masks - masks.mean()
    for shifted in (centred[:, :, 1:] * centred[:, :, :-1], centred[:, 1:] * centred[:, :-1]):
        assert abs(shifted.mean()) < 0.015
    corners = centred[:, :-1, :-1] * centred[:, 1:, 1:] * centred[:, :-1, 1:] * centred[:, 1:, :-1]
    assert abs(corners.mean()) < 0.01


class Attentive(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        words = self.body(x)
        seen = functional.scaled_dot_product_attention(words, words, words, dropout_p=0.4)
        return self.head(functional.dropout(seen.mean(dim=1), 0.2))


def test_what_is_dropped_on_the_way_is_dropped_on_the_way_back() -> None:
    model = compiled(Attentive(), 3, 4, recipe=Recipe(optimiser=PLAIN))
    steps, batch, rate = DeviceSteps(model.train_step, model.spec, seed=3), batch_of(model), 1e-3
    start = steps.begin(model.parameters)
    after = steps.step(start, batch, StepScalars(rate))
    # The same seed drops the same elements, so that the loss falls by the gradient's square.
    moved = steps.step(start._replace(parameters=after.training.parameters), batch, StepScalars(rate))
    squares = sum(
        float(np.sum(((model.parameters[name] - tensor) / rate) ** 2))
        for name, tensor in after.training.parameters.items()
    )
    assert after.loss - moved.loss == pytest.approx(rate * squares, rel=0.05)


def test_step_seeds_fit_the_graph_and_differ() -> None:
    seeds = {step_seed(seed, step) for seed in (0, 1, 2**53) for step in range(50)}
    assert len(seeds) == 150
    assert all(0 <= seed < 2**52 for seed in seeds)


def deep() -> nn.Module:
    return nn.Sequential(nn.Linear(40, 64), nn.Tanh(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, CLASSES))


def test_a_frozen_backbone_is_int8_and_close() -> None:
    module = deep()
    model = compiled(module, 40, recipe=Recipe(trains=Named(names=("4.*",))))
    stored = {spec.name: spec.dtype for spec in model.spec.frozen}
    assert stored == {
        **dict.fromkeys(("frozen.0.weight", "frozen.2.weight"), "int8"),
        **dict.fromkeys(("scale.0.weight", "scale.2.weight", "frozen.0.bias", "frozen.2.bias"), "float32"),
    }
    batch = batch_of(model)
    logits = predict_logits(open_session(model.predict), model.parameters, batch.dataset, model.frozen)
    np.testing.assert_allclose(logits, module(tensors_of(batch)[0]).detach().numpy(), atol=0.03)
    steps = DeviceSteps(model.train_step, model.spec, model.frozen)
    after = steps.step(steps.begin(model.parameters), batch, StepScalars(0.1)).training.parameters
    assert after.keys() == {"4.weight", "4.bias"}


def test_a_frozen_table_is_looked_up_in_int8() -> None:
    module = nn.Sequential(nn.Embedding(300, 8), nn.Flatten(), nn.Linear(16, CLASSES))
    program = export_module(module, (torch.zeros(2, 2, dtype=torch.int64),))
    model = compile_model(program, Recipe(trains=Named(names=("2.*",))), batch_size=BATCH)
    words = np.array([[1, 299], [5, 0]])
    dataset = Dataset({model.spec.inputs[0].name: words}, np.zeros(2, np.int64))
    logits = predict_logits(open_session(model.predict), model.parameters, dataset, model.frozen)
    np.testing.assert_allclose(logits, module(torch.from_numpy(words)).detach().numpy(), atol=0.03)


def test_adapters_begin_as_the_backbone_and_learn_in_a_hundredth() -> None:
    module = deep()
    recipe = Recipe(trains=Adapters(weights=("0.*", "2.*"), rank=2, alpha=4, names=("4.bias",)), optimiser=PLAIN)
    model = compiled(module, 40, recipe=recipe)
    assert {spec.name: spec.shape for spec in model.spec.parameters} == {
        "4.bias": (3,),
        "0.weight.lora_a": (2, 40),
        "0.weight.lora_b": (64, 2),
        "2.weight.lora_a": (2, 64),
        "2.weight.lora_b": (32, 2),
    }
    batch = batch_of(model)
    session = open_session(model.predict)
    frozen = compiled(module, 40, recipe=Recipe(trains=Named(names=("4.bias",))))
    np.testing.assert_array_equal(
        predict_logits(session, model.parameters, batch.dataset, model.frozen),
        predict_logits(open_session(frozen.predict), frozen.parameters, batch.dataset, frozen.frozen),
    )
    steps = DeviceSteps(model.train_step, model.spec, model.frozen)
    training, losses = steps.begin(model.parameters), []
    for _ in range(60):
        training, loss, _ = steps.step(training, batch, StepScalars(0.2))
        losses.append(loss)
    assert losses[-1] < losses[0] / 2
    assert any(np.any(training.parameters[name]) for name in ("0.weight.lora_b", "2.weight.lora_b"))


def test_adapters_step_as_in_pytorch() -> None:
    module = nn.Sequential(nn.Linear(5, 4, bias=False), nn.Tanh(), nn.Linear(4, CLASSES))
    recipe = Recipe(trains=Adapters(weights=("0.*",), rank=2, alpha=3, names=("2.*",)), optimiser=PLAIN)
    model = compiled(module, 5, recipe=recipe)
    start = {**model.parameters, "0.weight.lora_b": np.full((4, 2), 0.3, np.float32)}
    batch = batch_of(model)
    steps = DeviceSteps(model.train_step, model.spec, model.frozen)
    after = steps.step(steps.begin(start), batch, StepScalars(0.5)).training.parameters
    down, up = (torch.from_numpy(start[f"0.weight.lora_{end}"].copy()).requires_grad_() for end in "ab")
    inputs, target = tensors_of(batch)
    hidden = torch.tanh(module[0](inputs) + 1.5 * inputs @ down.T @ up.T)
    functional.cross_entropy(module[2](hidden), target).backward()
    for name, tensor in (("a", down), ("b", up)):
        expected = (tensor - 0.5 * tensor.grad).detach().numpy()
        np.testing.assert_allclose(after[f"0.weight.lora_{name}"], expected, rtol=1e-5, atol=1e-6)


def test_patterns_that_match_nothing_are_refused() -> None:
    with pytest.raises(NothingTrains, match="weight, bias"):
        compiled(nn.Linear(4, CLASSES), 4, recipe=Recipe(trains=Named(names=("head.*",))))


@pytest.mark.long
def test_parameters_leave_double_precision_no_further_than_pytorchs_own_float32() -> None:
    """Adam divides by small numbers what batch normalisation makes smaller, so that rounding grows in both."""
    module = normed()
    model = compiled(module, 1, 4, 4, recipe=Recipe(optimiser=Adam()))
    steps, double = DeviceSteps(model.train_step, model.spec), copy.deepcopy(module).double()
    sides = [(side, torch.optim.Adam(side.parameters(), lr=0.01)) for side in (module, double)]
    training = steps.begin(model.parameters)
    for number in range(100):
        batch = batch_of(model, seed=number)
        training = steps.step(training, batch, StepScalars(0.01)).training
        for side, optimiser in sides:
            x, target = tensors_of(batch)
            optimiser.zero_grad()
            torch.autograd.backward(nn.functional.cross_entropy(side(x.to(next(side.parameters()).dtype)), target))
            optimiser.step()
    exact = {name: tensor.detach().numpy() for name, tensor in double.named_parameters()}
    theirs = {name: tensor.detach().numpy() for name, tensor in module.named_parameters()}

    def off(found: Mapping[str, np.ndarray]) -> float:
        return float(np.sqrt(sum(np.square(found[name] - tensor).sum() for name, tensor in exact.items())))

    assert 0 < off(training.parameters) < 3 * off(theirs)
