"""Each loss with each optimiser follows PyTorch's own for a hundred steps."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from coterie.compile.compiled import CompiledModel, compile_model
from coterie.compile.errors import LossMismatch
from coterie.compile.program import export_module
from coterie.compile.recipe import Recipe, parse_recipe, recipe_document
from coterie.compile.recipe.loss import Loss
from coterie.compile.recipe.loss.binary_cross_entropy import BinaryCrossEntropy
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.recipe.loss.mean_squared_error import MeanSquaredError
from coterie.compile.recipe.loss.next_token import NextToken
from coterie.compile.recipe.optimiser import Optimiser
from coterie.compile.recipe.optimiser.adam import Adam
from coterie.compile.recipe.optimiser.adamw import AdamW
from coterie.compile.recipe.optimiser.sgd import Sgd
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.train_step import Batch, DeviceSteps
from coterie_learning.local import StepScalars
from coterie_wire.errors import WireError

BATCH, FEATURES, CLASSES, LENGTH, VOCABULARY = 6, 5, 4, 3, 7
SHARE, PULL, CLIP = 0.3, 0.1, 0.5


class Writer(nn.Module):
    """The next word by the word before."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 6)
        self.head = nn.Linear(6, VOCABULARY)

    def forward(self, words: Tensor) -> Tensor:
        logits: Tensor = self.head(torch.tanh(self.embedding(words)))
        return logits


def body(outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(FEATURES, 8), nn.Tanh(), nn.Linear(8, outputs))


@dataclass(frozen=True)
class Task:
    """A loss with a model, its samples, and the same loss in PyTorch's words: (output, target, teacher) to a number."""

    loss: Loss
    build: Callable[[], nn.Module]
    inputs: Callable[[np.random.Generator, int], np.ndarray]
    targets: Callable[[np.random.Generator, int], np.ndarray]
    teacher: Callable[[np.random.Generator, int], np.ndarray]
    in_pytorch: Callable[[Tensor, Tensor, Tensor], Tensor]


def numbers(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.normal(size=(count, FEATURES)).astype(np.float32)


def mixed(own: Tensor, taught: Tensor) -> Tensor:
    return (1 - SHARE) * own + SHARE * taught


WEIGHTS = (0.5, 1.0, 2.0, 0.25)
TASKS = {
    "cross_entropy": Task(
        CrossEntropy(label_smoothing=0.1, class_weights=WEIGHTS),
        lambda: body(CLASSES),
        numbers,
        lambda rng, n: rng.integers(0, CLASSES, n),
        lambda rng, n: rng.dirichlet(np.ones(CLASSES), n).astype(np.float32),
        lambda output, target, teacher: mixed(
            functional.cross_entropy(output, target, weight=torch.tensor(WEIGHTS), label_smoothing=0.1),
            functional.cross_entropy(output, teacher),
        ),
    ),
    "binary_cross_entropy": Task(
        BinaryCrossEntropy(),
        lambda: body(CLASSES),
        numbers,
        lambda rng, n: rng.integers(0, 2, (n, CLASSES)).astype(np.float32),
        lambda rng, n: rng.random((n, CLASSES), np.float32),
        lambda output, target, teacher: mixed(
            functional.binary_cross_entropy_with_logits(output, target),
            functional.binary_cross_entropy_with_logits(output, teacher),
        ),
    ),
    "mean_squared_error": Task(
        MeanSquaredError(),
        lambda: nn.Sequential(body(6), nn.Unflatten(1, (2, 3))),
        numbers,
        lambda rng, n: rng.normal(size=(n, 2, 3)).astype(np.float32),
        lambda rng, n: rng.normal(size=(n, 2, 3)).astype(np.float32),
        lambda output, target, teacher: mixed(
            functional.mse_loss(output, target), functional.mse_loss(output, teacher)
        ),
    ),
    "next_token": Task(
        NextToken(padding=0),
        Writer,
        lambda rng, n: rng.integers(0, VOCABULARY, (n, LENGTH)),
        lambda rng, n: rng.integers(0, 3, (n, LENGTH)),
        lambda rng, n: rng.dirichlet(np.ones(VOCABULARY), (n, LENGTH)).astype(np.float32),
        lambda output, target, teacher: mixed(
            functional.cross_entropy(output.flatten(0, 1), target.flatten(), ignore_index=0),
            functional.cross_entropy(output[target != 0], teacher[target != 0]),
        ),
    ),
}
OPTIMISERS: dict[str, tuple[Optimiser, StepScalars, Callable[[list[Tensor]], torch.optim.Optimizer]]] = {
    "sgd": (
        Sgd(momentum="none", weight_decay=True),
        StepScalars(0.1, weight_decay=0.01),
        lambda tensors: torch.optim.SGD(tensors, lr=0.1, weight_decay=0.01),
    ),
    "momentum": (Sgd(), StepScalars(0.05, 0.8), lambda tensors: torch.optim.SGD(tensors, lr=0.05, momentum=0.8)),
    "nesterov": (
        Sgd(momentum="nesterov"),
        StepScalars(0.05, 0.8),
        lambda tensors: torch.optim.SGD(tensors, lr=0.05, momentum=0.8, nesterov=True),
    ),
    "adam": (
        Adam(weight_decay=True),
        StepScalars(0.01, weight_decay=0.01),
        lambda tensors: torch.optim.Adam(tensors, lr=0.01, weight_decay=0.01),
    ),
    "adamw": (
        AdamW(beta1=0.8),
        StepScalars(0.01, weight_decay=0.1),
        lambda tensors: torch.optim.AdamW(tensors, lr=0.01, betas=(0.8, 0.999), weight_decay=0.1),
    ),
}


def compiled(task: Task, recipe: Recipe) -> tuple[nn.Module, CompiledModel]:
    torch.manual_seed(0)
    module = task.build()
    example = torch.from_numpy(task.inputs(np.random.default_rng(0), 2))
    return module, compile_model(export_module(module, (example,)), recipe, batch_size=BATCH)


def batch_of(task: Task, model: CompiledModel, seed: int) -> Batch:
    rng, count = np.random.default_rng(seed), BATCH - seed % 2
    inputs = {model.spec.inputs[0].name: task.inputs(rng, count)}
    return Batch(Dataset(inputs, task.targets(rng, count)), task.teacher(rng, count))


# Losses and optimisers meet in the gradient alone, so that every one is paired once with each kind of the other side.
PAIRS = [
    *(("mean_squared_error", name) for name in OPTIMISERS),
    *((name, "momentum") for name in TASKS if name[0] != "m"),
]


@pytest.mark.parametrize(("task", "optimiser"), PAIRS)
def test_hundred_steps_equal_pytorch(task: str, optimiser: str) -> None:
    given, (kind, weights, build) = TASKS[task], OPTIMISERS[optimiser]
    module, model = compiled(given, Recipe(loss=given.loss, optimiser=kind, clipping=True))
    steps, reference = DeviceSteps(model.train_step, model.spec), build(list(module.parameters()))
    anchors = [tensor.detach().clone() for tensor in module.parameters()]
    weights = StepScalars(
        weights.learning_rate, weights.momentum, weights.weight_decay, CLIP, PULL, distillation_weight=SHARE
    )
    training = steps.begin(model.parameters)
    for number in range(100):
        batch = batch_of(given, model, number)
        training, loss, _ = steps.step(training, batch, weights, model.parameters)
        reference.zero_grad()
        tensors = [torch.from_numpy(array) for array in (*batch.dataset.inputs.values(), batch.dataset.labels)]
        expected = given.in_pytorch(module(tensors[0]), tensors[1], torch.from_numpy(batch.teacher))
        pull = sum(((tensor - anchor) ** 2).sum() for tensor, anchor in zip(module.parameters(), anchors, strict=True))
        (expected + PULL / 2 * pull).backward()
        nn.utils.clip_grad_norm_(list(module.parameters()), CLIP)
        reference.step()
        assert loss == pytest.approx(expected.item(), rel=1e-4)
    for name, tensor in module.named_parameters():
        theirs = tensor.detach().numpy()
        assert np.linalg.norm(training.parameters[name] - theirs) < 1e-4 * np.linalg.norm(theirs)


@pytest.mark.parametrize("task", TASKS)
def test_gradient_is_that_of_double_precision(task: str) -> None:
    given = TASKS[task]
    module, model = compiled(given, Recipe(loss=given.loss, optimiser=Sgd(momentum="none")))
    batch = batch_of(given, model, 2)
    after = DeviceSteps(model.train_step, model.spec).step(
        DeviceSteps(model.train_step, model.spec).begin(model.parameters),
        batch,
        StepScalars(1.0, distillation_weight=SHARE),
    )
    double = module.double()
    inputs, target = (torch.from_numpy(array) for array in (*batch.dataset.inputs.values(), batch.dataset.labels))
    wide = (tensor.double() if tensor.dtype == torch.float32 else tensor for tensor in (inputs, target))
    weights = torch.tensor(WEIGHTS, dtype=torch.float64)
    output, target, teacher = module(next(wide)), next(wide), torch.from_numpy(batch.teacher).double()
    if task == "cross_entropy":
        own = functional.cross_entropy(output, target, weight=weights, label_smoothing=0.1)
        loss = mixed(own, functional.cross_entropy(output, teacher))
    else:
        loss = given.in_pytorch(output, target, teacher)
    loss.backward()
    for name, tensor in double.named_parameters():
        ours = model.parameters[name].astype(np.float64) - after.training.parameters[name]
        # What is read off a difference of parameters has the rounding of the parameters.
        np.testing.assert_allclose(ours, tensor.grad.numpy(), rtol=1e-5, atol=3e-7)


def test_hits_are_shares_of_what_a_sample_has() -> None:
    given = TASKS["next_token"]
    _, model = compiled(given, Recipe(loss=given.loss))
    words = np.array([[1, 2, 3], [4, 5, 6]])
    steps = DeviceSteps(model.train_step, model.spec)
    weights = {name: np.zeros_like(tensor) for name, tensor in model.parameters.items()}
    weights["head.bias"][2] = 1  # always says 2
    batch = Batch(Dataset({model.spec.inputs[0].name: words}, np.array([[2, 1, 0], [0, 2, 0]])))
    assert steps.step(steps.begin(weights), batch, StepScalars(0.0)).correct == pytest.approx(1.5)


def test_weight_that_the_graph_has_not_is_refused() -> None:
    given = TASKS["mean_squared_error"]
    _, model = compiled(given, Recipe(loss=given.loss, optimiser=Adam(), distillation=False))
    steps = DeviceSteps(model.train_step, model.spec)
    for weights in (
        StepScalars(0.1, momentum=0.5),
        StepScalars(0.1, distillation_weight=0.5),
        StepScalars(0.1, 0, 0, 1),
    ):
        with pytest.raises(WireError, match=r"compiled without; .* in its recipe") as caught:
            steps.step(steps.begin(model.parameters), batch_of(given, model, 0), weights)
        assert caught.value.code == "plan.does_not_fit"
    assert "teacher" not in {value.name for value in steps._session.get_inputs()}
    assert math.isfinite(steps.step(steps.begin(model.parameters), batch_of(given, model, 0), StepScalars(0.1)).loss)


@pytest.mark.parametrize(
    ("loss", "outputs"), [(CrossEntropy(), 1), (CrossEntropy(class_weights=(1.0, 2.0)), 3), (NextToken(), 3)], ids=str
)
def test_loss_of_another_task_is_refused(loss: Loss, outputs: int) -> None:
    program = export_module(body(outputs), (torch.zeros(2, FEATURES),))
    with pytest.raises(LossMismatch):
        compile_model(program, Recipe(loss=loss), batch_size=2)


def test_recipe_is_json() -> None:
    recipe = Recipe(loss=NextToken(padding=3), optimiser=AdamW(beta1=0.5), clipping=True)
    assert parse_recipe(recipe_document(recipe)) == recipe
    assert parse_recipe({}) == Recipe()


@pytest.mark.parametrize(
    "raw", [{"loss": {"kind": "hinge"}}, {"optimiser": {"kind": "adam", "beta1": 2}}, {"los": {}}, [], {"clipping": 1}]
)
def test_recipe_that_is_none_is_refused(raw: object) -> None:
    with pytest.raises(WireError) as caught:
        parse_recipe(raw)
    assert caught.value.code == "recipe.invalid"
