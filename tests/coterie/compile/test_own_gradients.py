"""Functions with gradients of their own, in models and losses that `torch.export` alone has exported."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.nn.utils import parametrize

from coterie.cloud.program import CloudProgram
from coterie.compile.compiled import compile_model
from coterie.compile.errors import NoGradient
from coterie.compile.loss_program import LossProgram
from coterie.compile.own_gradients import refuse_own_gradients
from coterie.compile.program import in_mode
from coterie.compile.recipe.loss.custom import Custom
from tests.zoo.reference import uploaded

CLASSES = 3


class _Tripled(torch.autograd.Function):
    """Smooth, with another gradient than that of what it computes."""

    @staticmethod
    def forward(context: object, x: Tensor) -> Tensor:
        return torch.tanh(x * 2)

    @staticmethod
    def backward(context: object, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return gradient * 3


class _Rounded(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return torch.round(x * 8) / 8

    @staticmethod
    def setup_context(context: object, inputs: object, output: object) -> None: ...

    @staticmethod
    def backward(context: object, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return gradient


class _Spike(torch.autograd.Function):
    """Neftci et al. 2019, arXiv 1901.09948: a step with the gradient of a curve."""

    @staticmethod
    def forward(context: object, x: Tensor) -> Tensor:
        return (x > 0).float()

    @staticmethod
    def backward(context: object, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return gradient


class _Reversed(torch.autograd.Function):
    """Ganin and Lempitsky 2015, arXiv 1409.7495."""

    @staticmethod
    def forward(context: object, x: Tensor) -> Tensor:
        return x

    @staticmethod
    def backward(context: object, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return -gradient


rounded = _Rounded.apply


def rounding(x: Tensor) -> Tensor:
    given: Tensor = _Rounded.apply(x)
    return given


def reverse(x: Tensor) -> Tensor:
    given: Tensor = _Reversed.apply(x)
    return given


class Tripling(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        given: Tensor = _Tripled.apply(x)
        return given


class Odd(nn.Module):
    """Does `take` between two layers."""

    def __init__(self, take: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.first, self.take, self.head = nn.Linear(4, 4), take, nn.Linear(4, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.take(self.first(x)))
        return logits


def exported(module: nn.Module, *example: Tensor) -> ExportedProgram:
    """By PyTorch alone."""
    batch = torch.export.Dim("batch", min=1)
    given = example or (torch.rand(3, 4),)
    with in_mode(module, training=True):
        return torch.export.export(module, given, dynamic_shapes=tuple({0: batch} for _ in given))


@pytest.mark.parametrize(
    ("take", "words"),
    [
        (Tripling(), r"module 'take', at 'test_own_gradients\.py:\d+: return torch\.tanh.*of _Tripled out"),
        (rounded, r"the model itself, at 'test_own_gradients\.py:\d+: return torch\.round.*of this step out"),
        (rounding, r"return torch\.round.*of this step out"),
        (_Spike.apply, r"return \(x > 0\).*of this step out"),
        (reverse, r"self\.take\(self\.first.*of this view out"),
    ],
)
def test_functions_whose_gradient_was_left_out_are_refused(take: Callable[[Tensor], Tensor], words: str) -> None:
    program = uploaded(exported(Odd(take)))
    with pytest.raises(NoGradient, match=words):
        compile_model(program, batch_size=2)
    with pytest.raises(NoGradient, match=words):
        CloudProgram(program)


class Swish(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(x)


class Positive(nn.Module):
    """Has a gradient, although a comparison has none."""

    def forward(self, x: Tensor) -> Tensor:
        return x * (x > 0).float()


class Applying(nn.Module):
    """Has a method `apply` that computes."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part = part

    def apply(self, x: Tensor) -> Tensor:  # type: ignore[override]
        given: Tensor = self.part(x)
        return given

    def forward(self, x: Tensor) -> Tensor:
        return self.apply(x) + 1


class Longer(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return torch.round(super().forward(x))


class Halved(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight / 2


swish, positive = Swish(), Positive()
SOUND: dict[str, Callable[[Tensor], Tensor]] = {
    "a module that is no part of the model": lambda x: swish(x),
    "one that compares": lambda x: positive(x),
    "one of PyTorch": lambda x: nn.Softmax(dim=1)(x),
    "a method called apply": Applying(Swish()),
    "a layer of a layer": Longer(4, 4),
    "a parametrised layer": parametrize.register_parametrization(nn.Linear(4, 4), "weight", Halved()),
    "a transformer": nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
}


@pytest.mark.parametrize("take", SOUND.values(), ids=SOUND)
def test_other_forwards_are_not_taken_for_functions(take: Callable[[Tensor], Tensor]) -> None:
    class Sequences(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return take(x[:, None])[:, 0]

    refuse_own_gradients(exported(Odd(Sequences() if isinstance(take, nn.TransformerEncoderLayer) else take)))


def test_functions_that_no_gradient_reaches_are_taken() -> None:
    class OfInputs(Odd):
        def forward(self, x: Tensor) -> Tensor:
            logits: Tensor = self.head(self.first(_Tripled.apply(x)) + _Tripled.apply(self.first(x).detach()))
            return logits

    refuse_own_gradients(exported(OfInputs(nn.Identity())))


def test_losses_with_such_functions_are_refused() -> None:
    class Loss(nn.Module):
        def forward(self, output: Tensor, target: Tensor) -> Tensor:
            return ((_Tripled.apply(output) - target) ** 2).sum(dim=1)

    program = exported(Loss(), torch.rand(3, 4), torch.rand(3, 4))
    with pytest.raises(NoGradient, match=r"module 'loss', at .*of _Tripled out"):
        LossProgram(Custom(), program)
