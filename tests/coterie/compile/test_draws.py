"""What a model draws at random has its distribution in training, anew at each step, and its mean in service."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from coterie.compile.compiled import compile_model
from coterie.compile.errors import UnsupportedOperator
from coterie.compile.program import export_module
from coterie.compile.recipe import Recipe
from coterie.compile.recipe.loss.mean_squared_error import MeanSquaredError
from coterie.compile.trial import try_training
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import open_session, predict_logits
from coterie.evaluation.train_step import Batch, DeviceSteps
from coterie_learning.local import StepScalars
from tests.zoo.reference import uploaded

SAMPLES, NUMBERS, SHARE = 64, 256, 0.8


def as_timm_did(x: Tensor) -> Tensor:
    kept = SHARE + torch.rand((x.shape[0], 1), dtype=x.dtype)
    kept.floor_()
    return x.div(SHARE) * kept


DRAWN: dict[str, tuple[Callable[[Tensor], Tensor], float]] = {
    "drop path": (as_timm_did, 1 / SHARE),
    "below a share": (lambda x: x * (torch.rand_like(x) < SHARE).float() / SHARE, 1 / SHARE),
    "above the rest": (lambda x: x * (torch.rand(x.shape) > 1 - SHARE) / SHARE, 1 / SHARE),
    "a spread of 0.5": (lambda x: x + torch.randn_like(x) * 0.5, 1.25),
    "a spread that is learned": (lambda x: x + torch.exp(0.5 * (x - x)) * torch.randn(x.shape), 2.0),
}
"""What is done to ones, and the mean square of what comes of it."""


class Drawing(nn.Module):
    def __init__(self, take: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.take, self.weight = take, nn.Parameter(torch.ones(NUMBERS))

    def forward(self, x: Tensor) -> Tensor:
        return self.take(self.weight + 0 * x)


@pytest.mark.parametrize("name", DRAWN)
def test_a_draw_has_its_distribution_in_training_and_its_mean_in_service(name: str) -> None:
    take, mean_square = DRAWN[name]
    program = uploaded(export_module(Drawing(take), (torch.zeros(2, NUMBERS),)))
    model = compile_model(program, Recipe(loss=MeanSquaredError()), batch_size=SAMPLES)
    try_training(program, model)
    assert model.spec.seeded
    zeros = np.zeros((SAMPLES, NUMBERS), np.float32)
    dataset = Dataset({model.spec.inputs[0].name: zeros}, zeros)
    steps = DeviceSteps(model.train_step, model.spec, seed=1)
    training, losses = steps.begin(model.parameters), []
    for _ in range(20):
        training, loss, _ = steps.step(training, Batch(dataset), StepScalars(0.0), model.parameters)
        losses.append(loss)
    assert np.mean(losses) == pytest.approx(mean_square, rel=0.05)
    assert len(set(losses)) > 5
    found = predict_logits(open_session(model.predict), model.parameters, dataset)
    np.testing.assert_allclose(found, np.ones_like(zeros), rtol=1e-6)


@pytest.mark.parametrize(
    "take",
    [
        lambda x: torch.where(torch.rand_like(x) < SHARE, x, -x),
        lambda x: (x + torch.randn_like(x)).sigmoid() * torch.randn_like(x).relu(),
        lambda x: x * torch.floor(torch.rand_like(x) * 3),
    ],
    ids=["chooses", "cut off", "of several"],
)
def test_a_draw_whose_mean_stands_for_nothing_is_refused(take: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(UnsupportedOperator, match=r"test_draws\.py.*torch\.randn_like\(x\), of which the mean"):
        compile_model(export_module(Drawing(take), (torch.zeros(2, NUMBERS),)), batch_size=4)
