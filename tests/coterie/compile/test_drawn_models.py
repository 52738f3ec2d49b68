"""Models drawn at random follow PyTorch: one step's loss and gradients are those of double precision."""

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from torch import Tensor, nn

from coterie.compile.compiled import CompiledModel
from coterie.compile.recipe import Recipe
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.recipe.loss.mean_squared_error import MeanSquaredError
from coterie.compile.recipe.optimiser.sgd import Sgd
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import open_session, predict_logits
from coterie.evaluation.train_step import Batch, DeviceSteps
from coterie_learning.local import StepScalars
from tests.zoo.drawn import OUTPUTS, entries
from tests.zoo.entry import Entry
from tests.zoo.reference import compiled, loss_of

BATCH, SHARE = 5, 0.3
FAR = 1024.0
"""A learning rate at which the parameters' own rounding does not show in their difference."""
CLOSE = 1e-5
DRAWN = settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""The same models at each run, none of them made smaller: building one takes a second."""


@pytest.mark.long
@settings(DRAWN, max_examples=4)
@given(entries())
def test_a_few_models(entry: Entry) -> None:
    follows_pytorch(entry)


@pytest.mark.zoo
@settings(DRAWN, max_examples=100)
@given(entries())
def test_many_models(entry: Entry) -> None:
    follows_pytorch(entry)


def follows_pytorch(entry: Entry) -> None:
    module = entry.built()
    recipe = Recipe(loss=entry.loss, optimiser=Sgd(momentum="none"))
    try:
        model = compiled(module, *entry.samples(2, 0), batch_size=BATCH, recipe=recipe)
    except Exception as error:
        error.add_note(str(module))
        raise
    batch, steps = batch_of(entry, model), DeviceSteps(model.train_step, model.spec)
    ours = steps.step(steps.begin(model.parameters), batch, StepScalars(FAR, distillation_weight=SHARE))
    found = {name: (model.parameters[name] - after) / FAR for name, after in ours.training.parameters.items()}
    loss, near = in_pytorch(entry, module, batch)
    module.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in model.parameters.items()}, strict=False)
    exact, wanted = in_pytorch(entry, module.double(), batch)
    # Where PyTorch's own float32 is far from float64, as close to a kink, ours need be no closer.
    allowed = max(CLOSE, 3 * apart(near, wanted))
    assert apart(found, wanted) <= allowed, module
    assert ours.loss == pytest.approx(exact, rel=max(CLOSE, 3 * abs(loss / exact - 1))), module
    logits = predict_logits(open_session(model.predict), model.parameters, batch.dataset)
    with torch.no_grad():
        module.load_state_dict(
            {name: torch.from_numpy(tensor).double() for name, tensor in model.parameters.items()}, strict=False
        )
        (x,) = inputs_of(batch, torch.float64)
        np.testing.assert_allclose(logits, module.eval()(x).numpy(), rtol=1e-3, atol=1e-4, err_msg=str(module))


def batch_of(entry: Entry, model: CompiledModel) -> Batch:
    generator, count = np.random.default_rng(1), BATCH - 1
    inputs = {model.spec.inputs[0].name: entry.samples(count, 1)[0].numpy()}
    match entry.loss:
        case CrossEntropy():
            target, teacher = (
                generator.integers(0, OUTPUTS, count),
                generator.dirichlet(np.ones(OUTPUTS), count),
            )
        case MeanSquaredError():
            target, teacher = (generator.normal(size=(count, OUTPUTS)) for _ in range(2))
        case _:
            target, teacher = (generator.random((count, OUTPUTS)) for _ in range(2))
    target = target if target.dtype == np.int64 else target.astype(np.float32)
    return Batch(Dataset(inputs, target), teacher.astype(np.float32))


def inputs_of(batch: Batch, dtype: torch.dtype) -> list[Tensor]:
    tensors = (torch.from_numpy(array) for array in batch.dataset.inputs.values())
    return [tensor.to(dtype) if tensor.is_floating_point() else tensor for tensor in tensors]


def in_pytorch(entry: Entry, module: nn.Module, batch: Batch) -> tuple[float, dict[str, np.ndarray]]:
    dtype = next(module.parameters()).dtype
    assert batch.teacher is not None
    target, teacher = torch.from_numpy(batch.dataset.labels), torch.from_numpy(batch.teacher).to(dtype)
    target = target.to(dtype) if target.is_floating_point() else target
    module.zero_grad()
    loss = loss_of(entry.loss, module.train()(*inputs_of(batch, dtype)), target, teacher, SHARE)
    loss.backward()
    return loss.item(), {name: tensor.grad.double().numpy() for name, tensor in module.named_parameters()}


def apart(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> float:
    """Relative to the norm of all gradients."""
    off = np.concatenate([(found[name].astype(np.float64) - tensor).ravel() for name, tensor in wanted.items()])
    return float(np.linalg.norm(off) / np.linalg.norm(np.concatenate([part.ravel() for part in wanted.values()])))
