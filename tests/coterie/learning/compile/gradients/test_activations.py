import pytest
import torch

from coterie.learning.compile.gradients import activations

aten = torch.ops.aten
X = torch.linspace(-12, 12, 97)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_equals_pytorch(approximate: str) -> None:
    gradient = torch.cos(X)
    torch.testing.assert_close(activations.gelu(X, approximate=approximate), aten.gelu(X, approximate=approximate))
    found = activations.gelu_backward(gradient, X, approximate=approximate)
    torch.testing.assert_close(found, aten.gelu_backward(gradient, X, approximate=approximate))


def test_silu_equals_pytorch() -> None:
    gradient = torch.cos(X)
    torch.testing.assert_close(activations.silu(X), aten.silu(X))
    torch.testing.assert_close(activations.silu_backward(gradient, X), aten.silu_backward(gradient, X))
