import pytest
import torch
from torch import Tensor

from coterie.compile.gradients import normalisation

aten = torch.ops.aten


@pytest.mark.parametrize("scaled", [True, False])
def test_group_norm_equals_pytorch(scaled: bool) -> None:
    torch.manual_seed(0)
    x, weight, bias = torch.randn(3, 6, 4, 5) + 2, torch.randn(6), torch.randn(6)
    parameters = (weight, bias) if scaled else (None, None)
    sizes = (3, 6, 20, 2)
    found = normalisation.native_group_norm(x, *parameters, *sizes, 1e-5)
    compare(found, aten.native_group_norm(x, *parameters, *sizes, 1e-5))
    given = (torch.randn_like(x), x, *found[1:], parameters[0], *sizes, [True, scaled, scaled])
    compare(normalisation.native_group_norm_backward(*given), aten.native_group_norm_backward(*given))


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("shape", [[5], [4, 5]])
def test_layer_norm_equals_pytorch(shape: list[int], scaled: bool) -> None:
    torch.manual_seed(0)
    x, weight, bias = torch.randn(3, 4, 5) + 2, torch.randn(shape), torch.randn(shape)
    parameters = (weight, bias) if scaled else (None, None)
    found = normalisation.native_layer_norm(x, shape, *parameters, 1e-5)
    compare(found, aten.native_layer_norm(x, shape, *parameters, 1e-5))
    given = (torch.randn_like(x), x, shape, *found[1:], *parameters, [True, scaled, scaled])
    compare(normalisation.native_layer_norm_backward(*given), aten.native_layer_norm_backward(*given))


def compare(ours: tuple[Tensor | None, ...], theirs: tuple[Tensor | None, ...]) -> None:
    for own, wanted in zip(ours, theirs, strict=True):
        if own is not None:
            torch.testing.assert_close(own, wanted, rtol=1e-5, atol=1e-5)
        else:
            assert wanted is None or not wanted.numel()
