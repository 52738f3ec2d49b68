import pytest
import torch

from coterie.compile.gradients import activations

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


def test_mish_equals_pytorch() -> None:
    x = torch.cat([X, torch.tensor([-100.0, -60.0, 19.9, 20.1, 60.0, 100.0])])
    gradient = torch.cos(x)
    torch.testing.assert_close(activations.mish(x), aten.mish(x))
    torch.testing.assert_close(activations.mish_backward(gradient, x), aten.mish_backward(gradient, x))


def test_prelu_equals_pytorch() -> None:
    x, weight = X.reshape(1, 1, 97).repeat(2, 3, 1), torch.tensor([-0.5, 0.25, 2.0]).reshape(1, 3, 1)
    gradient = torch.cos(x)
    torch.testing.assert_close(activations.prelu(x, weight), aten._prelu_kernel(x, weight))
    found = activations.prelu_backward(gradient, x, weight)
    torch.testing.assert_close(found, aten._prelu_kernel_backward(gradient, x, weight))
