"""Every operator of the gallery, forward and backward, against PyTorch in double precision."""

import contextlib
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import open_session, predict_logits
from coterie.evaluation.train_step import Batch, DeviceSteps
from coterie_learning.local import StepScalars
from tests.zoo.gallery import GALLERY, Case
from tests.zoo.reference import compiled

BATCH = 3


class Together(nn.Module):
    """Several operators side by side, each with a parameter before it and a class of its own after it."""

    def __init__(self, cases: Mapping[str, Case]) -> None:
        super().__init__()
        self.cases = cases
        self.shift = nn.ParameterDict({name: nn.Parameter(torch.zeros(case.shape)) for name, case in cases.items()})

    def forward(self, x: Tensor) -> Tensor:
        columns = []
        for name, case in self.cases.items():
            size = self.shift[name].numel()
            found = case.take(x[:, :size].reshape(-1, *case.shape) + self.shift[name]).reshape(x.shape[0], -1)
            weights = 1.5 + torch.linspace(0, 6, found.shape[1]).sin()
            columns.append(nn.functional.softsign((found * weights).mean(dim=1)))
        return torch.stack(columns, dim=1)


@contextlib.contextmanager
def in_double_precision() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.zoo
@pytest.mark.parametrize("group", GALLERY)
def test_operators_equal_pytorch(group: str) -> None:
    cases = GALLERY[group]
    samples = torch.randn(BATCH, 240, generator=torch.Generator().manual_seed(5))
    module = Together(cases)
    model = compiled(module, samples, batch_size=BATCH)
    labels = np.arange(BATCH)
    dataset = Dataset({model.spec.inputs[0].name: samples.numpy()}, labels)
    steps = DeviceSteps(model.train_step, model.spec)
    after = steps.step(steps.begin(model.parameters), Batch(dataset), StepScalars(1.0)).training.parameters
    logits = predict_logits(open_session(model.predict), model.parameters, dataset)
    with in_double_precision():  # what the operators make themselves, as well
        reference = module.double()
        wanted = reference(samples.double())
        loss = nn.functional.cross_entropy(wanted, torch.from_numpy(labels))
        gradients = dict(zip(reference.shift, torch.autograd.grad(loss, list(reference.shift.values())), strict=True))
    wrong = []
    for place, name in enumerate(cases):
        gradient, found = gradients[name], -after[f"shift.{name}"]
        assert float(gradient.abs().max()) > 1e-5, f"{name}: nothing to compare"
        if not np.allclose(found, gradient.numpy(), rtol=1e-4, atol=1e-5 * float(gradient.abs().max())):
            wrong.append(f"{name}: gradient {found.ravel()[:4]} instead of {gradient.numpy().ravel()[:4]}")
        if not np.allclose(logits[:, place], wanted[:, place].detach().numpy(), rtol=1e-5, atol=1e-6):
            wrong.append(f"{name}: {logits[:, place]} instead of {wanted[:, place].detach().numpy()}")
    assert not wrong, "\n".join(wrong)
