"""The optimisers of recipes on tensors: one step of one parameter."""

import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import NamedTuple

import torch
from torch import Tensor

from coterie.compile.recipe.optimiser import Optimiser
from coterie.compile.recipe.optimiser.adam import Adam
from coterie.compile.recipe.optimiser.adamw import AdamW
from coterie.compile.recipe.optimiser.second_order import SecondOrder
from coterie.compile.recipe.optimiser.sgd import Sgd

Scalars = Mapping[str, Tensor]
"""float32 [] by name."""
CLIP_EPSILON = 1e-6
"""As in ``torch.nn.utils.clip_grad_norm_``."""


class Stepped(NamedTuple):
    """A parameter after a step, and its optimiser state."""

    parameter: Tensor
    state: Sequence[Tensor]


@singledispatch
def advance(
    optimiser: Optimiser, parameter: Tensor, gradient: Tensor, state: Sequence[Tensor], scalars: Scalars
) -> Stepped:
    """One step of `parameter` along `gradient`."""
    raise NotImplementedError(f"no mathematics for {optimiser.name}")


@advance.register
def _(optimiser: Sgd, parameter: Tensor, gradient: Tensor, state: Sequence[Tensor], scalars: Scalars) -> Stepped:
    if optimiser.weight_decay:
        gradient = gradient + scalars["weight_decay"] * parameter
    rate = scalars["learning_rate"]
    if optimiser.momentum == "none":
        return Stepped(parameter - rate * gradient, [])
    velocity = scalars["momentum"] * state[0] + gradient
    step = gradient + scalars["momentum"] * velocity if optimiser.momentum == "nesterov" else velocity
    return Stepped(parameter - rate * step, [velocity])


@advance.register
def _(optimiser: Adam, parameter: Tensor, gradient: Tensor, state: Sequence[Tensor], scalars: Scalars) -> Stepped:
    if optimiser.weight_decay:
        gradient = gradient + scalars["weight_decay"] * parameter
    return _adam(optimiser, parameter, gradient, state, scalars)


@advance.register
def _(optimiser: AdamW, parameter: Tensor, gradient: Tensor, state: Sequence[Tensor], scalars: Scalars) -> Stepped:
    decayed = parameter * (1 - scalars["learning_rate"] * scalars["weight_decay"])
    return _adam(optimiser, decayed, gradient, state, scalars)


@advance.register
def _(
    optimiser: SecondOrder,  # noqa: ARG001
    parameter: Tensor,
    gradient: Tensor,
    state: Sequence[Tensor],  # noqa: ARG001
    scalars: Scalars,
) -> Stepped:
    return Stepped(parameter + scalars["learning_rate"] * gradient, [])


def _adam(
    optimiser: Adam | AdamW, parameter: Tensor, gradient: Tensor, state: Sequence[Tensor], scalars: Scalars
) -> Stepped:
    mean = state[0] + (1 - optimiser.beta1) * (gradient - state[0])
    square = optimiser.beta2 * state[1] + (1 - optimiser.beta2) * (gradient * gradient)
    # In double precision: 1 - 0.999 has only four digits in single.
    count = scalars["step"].to(torch.float64) + 1
    size = scalars["learning_rate"] / _missing(optimiser.beta1, count).to(torch.float32)
    root = torch.sqrt(_missing(optimiser.beta2, count)).to(torch.float32)
    return Stepped(parameter - size * mean / (torch.sqrt(square) / root + optimiser.epsilon), [mean, square])


def _missing(beta: float, count: Tensor) -> Tensor:
    """1 - beta^count: the bias correction of a decaying mean of `count` numbers."""
    return 1 - torch.exp(count * math.log(beta)) if beta > 0 else torch.ones_like(count)


def clip(gradients: Sequence[Tensor], longest: Tensor) -> Sequence[Tensor]:
    """All gradients together, scaled down to the L2 norm `longest` where they are longer."""
    squares = [(gradient * gradient).sum() for gradient in gradients]
    norm = torch.sqrt(torch.stack(squares).sum())
    factor = torch.clamp(longest / (norm + CLIP_EPSILON), max=1.0)
    return [gradient * factor for gradient in gradients]
