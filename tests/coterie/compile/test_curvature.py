"""Second derivatives of losses, beside those that PyTorch finds by differentiating twice."""

import pytest
import torch
from torch.autograd.functional import hessian

from coterie.compile.errors import NoCurvature
from coterie.compile.losses import curvature, loss_and_gradient
from coterie.compile.recipe.loss import Loss
from coterie.compile.recipe.loss.binary_cross_entropy import BinaryCrossEntropy
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.recipe.loss.mean_squared_error import MeanSquaredError
from coterie.compile.recipe.loss.next_token import NextToken

BATCH = 4
WEIGHT = torch.tensor([1.0, 1.0, 0.0, 1.0])


def drawn(outputs: int) -> torch.Tensor:
    return torch.randn(BATCH, outputs, generator=torch.Generator().manual_seed(outputs))


def second_derivatives(loss: Loss, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """[samples, outputs, outputs]"""
    whole = hessian(lambda given: loss_and_gradient(loss, given, target, WEIGHT, None).loss, output)
    assert isinstance(whole, torch.Tensor)
    return torch.stack([whole[row, :, row] for row in range(BATCH)])


@pytest.mark.parametrize("loss", [BinaryCrossEntropy(), MeanSquaredError()], ids=lambda loss: loss.name)
def test_it_is_the_diagonal_where_outputs_share_nothing(loss: Loss) -> None:
    output, target = drawn(3), (drawn(3) > 0).to(torch.float32)
    exact = second_derivatives(loss, output, target)
    torch.testing.assert_close(curvature(loss, output, WEIGHT), torch.diagonal(exact, dim1=1, dim2=2))


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_of_a_softmax_it_is_a_bound_and_exact_between_two(smoothing: float) -> None:
    loss = CrossEntropy(label_smoothing=smoothing)
    target = torch.tensor([0, 1, 1, 0])
    for outputs in (2, 5):
        exact = second_derivatives(loss, drawn(outputs), target)
        bound = torch.diag_embed(curvature(loss, drawn(outputs), WEIGHT))
        assert (torch.linalg.eigvalsh(bound - exact) >= -1e-6).all()
    apart = torch.tensor([1.0, -1.0])
    exact, bound = second_derivatives(loss, drawn(2), target), curvature(loss, drawn(2), WEIGHT)
    torch.testing.assert_close(exact @ apart, bound * apart)


@pytest.mark.parametrize("loss", [NextToken(), CrossEntropy(class_weights=(1.0, 2.0))], ids=lambda loss: loss.name)
def test_a_loss_without_is_refused(loss: Loss) -> None:
    with pytest.raises(NoCurvature, match="take cross_entropy"):
        curvature(loss, drawn(2), WEIGHT)
