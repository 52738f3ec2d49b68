"""The losses of recipes on tensors, each with its gradient by the model's output in closed form.

Everywhere d is the distillation weight, w a sample's share of its batch's weight; a target y and a teacher's output q
mix to y + d·(q - y), because every loss here is linear in them or has a gradient that is.
"""

from functools import singledispatch
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from coterie.compile.errors import NoCurvature
from coterie.compile.loss_program import Criterion, LossProgram
from coterie.compile.recipe.loss.binary_cross_entropy import BinaryCrossEntropy
from coterie.compile.recipe.loss.cross_entropy import CrossEntropy
from coterie.compile.recipe.loss.given_gradient import GivenGradient
from coterie.compile.recipe.loss.mean_squared_error import MeanSquaredError
from coterie.compile.recipe.loss.next_token import NextToken
from coterie_wire.bundle import Task

TINY_WEIGHT = 1e-12
"""Avoids a division by zero for a batch whose weights are all zero."""


class Teacher(NamedTuple):
    """A teacher's outputs for a batch, and their weight in the loss."""

    output: Tensor
    """[batch, *output]: probabilities, or values."""
    weight: Tensor
    """[], between 0 and 1."""


class LossAndGradient(NamedTuple):
    """A batch's loss [], its gradient by the output, and the weighted number of correct samples, where that is
    defined.
    """

    loss: Tensor
    gradient: Tensor
    correct: Tensor | None


@singledispatch
def loss_and_gradient(
    loss: Criterion, output: Tensor, target: Tensor, weight: Tensor, teacher: Teacher | None
) -> LossAndGradient:
    """`output` [batch, ...] against `target`, samples weighing `weight` [batch]."""
    raise NotImplementedError(f"no mathematics for {loss.name}")


@singledispatch
def curvature(loss: Criterion, output: Tensor, weight: Tensor) -> Tensor:  # noqa: ARG001
    """An upper bound of the second derivatives of a batch's loss by each number of `output`, in its shape.

    It is exact where outputs do not share a softmax, and where two do, in the direction in which they differ. Raises
    NoCurvature.
    """
    raise NoCurvature(loss=loss.name)


@singledispatch
def soft_targets(loss: Criterion, output: Tensor) -> Tensor:
    """The targets for a student, from a teacher's `output`: probabilities, or values."""
    raise NotImplementedError(f"no mathematics for {loss.name}")


@loss_and_gradient.register
def _(loss: CrossEntropy, output: Tensor, target: Tensor, weight: Tensor, teacher: Teacher | None) -> LossAndGradient:
    classes = output.shape[1]
    hot = (target.unsqueeze(1) == torch.arange(classes, device=target.device)).to(torch.float32)
    if loss.class_weights is None:
        share = _share(weight).unsqueeze(1)
        targets = _smooth(hot, loss.label_smoothing)
        if teacher is not None:
            targets = targets + teacher.weight * (teacher.output - targets)
        aims = share * targets
    else:
        by_class = torch.tensor(loss.class_weights, dtype=torch.float32, device=target.device)
        aims = _share(weight * (hot * by_class).sum(dim=1), weight).unsqueeze(1) * _smooth(hot, loss.label_smoothing)
        aims = aims * by_class
        if teacher is not None:
            aims = aims + teacher.weight * (_share(weight).unsqueeze(1) * teacher.output - aims)
    return LossAndGradient(*_cross_entropy(output, aims), (weight * _right_class(output, target)).sum())


@loss_and_gradient.register
def _(loss: NextToken, output: Tensor, target: Tensor, weight: Tensor, teacher: Teacher | None) -> LossAndGradient:
    present = (target != loss.padding).to(torch.float32)
    weights = weight.unsqueeze(1) * present
    share = (weights / torch.clamp(weights.sum(), min=TINY_WEIGHT)).unsqueeze(2)
    targets = (target.unsqueeze(2) == torch.arange(output.shape[2], device=target.device)).to(torch.float32)
    if teacher is not None:
        targets = targets + teacher.weight * (teacher.output - targets)
    right = (output.argmax(dim=2) == target).to(torch.float32) * present
    hits = right.sum(dim=1) / torch.clamp(present.sum(dim=1), min=1.0)
    return LossAndGradient(*_cross_entropy(output, share * targets), (weight * hits).sum())


@loss_and_gradient.register
def _(
    loss: BinaryCrossEntropy,  # noqa: ARG001
    output: Tensor,
    target: Tensor,
    weight: Tensor,
    teacher: Teacher | None,
) -> LossAndGradient:
    targets = target if teacher is None else target + teacher.weight * (teacher.output - target)
    share = (_share(weight) / output.shape[1]).unsqueeze(1)
    total = (share * _of_logits(output, targets)).sum()
    hits = (weight * _right_labels(output, target)).sum()
    return LossAndGradient(total, share * (torch.sigmoid(output) - targets), hits)


@loss_and_gradient.register
def _(
    loss: MeanSquaredError,  # noqa: ARG001
    output: Tensor,
    target: Tensor,
    weight: Tensor,
    teacher: Teacher | None,
) -> LossAndGradient:
    flat, aim = output.flatten(1), target.flatten(1)
    share = (_share(weight) / flat.shape[1]).unsqueeze(1)
    off = flat - aim
    losses, slope = off * off, off
    if teacher is not None:
        far = flat - teacher.output.flatten(1)
        losses, slope = losses + teacher.weight * (far * far - losses), off + teacher.weight * (far - off)
    return LossAndGradient((share * losses).sum(), (2 * share * slope).reshape(output.shape), None)


@loss_and_gradient.register
def _(
    loss: GivenGradient,  # noqa: ARG001
    output: Tensor,
    target: Tensor,
    weight: Tensor,
    teacher: Teacher | None,
) -> LossAndGradient:
    given = target if teacher is None else target + teacher.weight * (teacher.output - target)
    gradient = _column(_share(weight), output) * given
    return LossAndGradient((output * gradient).sum(), gradient, None)


@loss_and_gradient.register
def _(loss: LossProgram, output: Tensor, target: Tensor, weight: Tensor, teacher: Teacher | None) -> LossAndGradient:
    """Padding is replaced by copies of the first sample: for zeros a loss may have no gradient."""
    kept = weight > 0
    aim = torch.where(_column(kept, target), target, target[:1])

    def losses_of(given: Tensor) -> Tensor:
        return loss.losses(torch.where(_column(kept, given), given, given[:1]), aim)

    losses, pull_back, *_ = torch.func.vjp(losses_of, output)
    share = _share(weight)
    total, gradient = (share * losses).sum(), pull_back(share)[0]
    if teacher is not None:
        taught, slope = _taught(loss.task, output, teacher.output, share)
        total = total + teacher.weight * (taught - total)
        gradient = gradient + teacher.weight * (slope - gradient)
    right = _right(loss.task, output, target)
    return LossAndGradient(total, gradient, None if right is None else (weight * right).sum())


def _taught(task: Task, output: Tensor, word: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """The plain loss of a task with a teacher's outputs, and its gradient."""
    match task:
        case "classes":
            return _cross_entropy(output, share.unsqueeze(1) * word)
        case "labels":
            part = (share / output.shape[1]).unsqueeze(1)
            return (part * _of_logits(output, word)).sum(), part * (torch.sigmoid(output) - word)
        case _:
            part = _column(share / output[0].numel(), output)
            off = output - word
            return (part * off * off).sum(), 2 * part * off


def _right(task: Task, output: Tensor, target: Tensor) -> Tensor | None:
    """The share of each sample that is correct, [batch]."""
    match task:
        case "classes":
            return _right_class(output, target)
        case "labels":
            return _right_labels(output, target)
        case _:
            return None


def _right_class(output: Tensor, target: Tensor) -> Tensor:
    return (output.argmax(dim=1) == target).to(torch.float32)


def _right_labels(output: Tensor, target: Tensor) -> Tensor:
    return ((output > 0) == (target > 0.5)).to(torch.float32).mean(dim=1)


@curvature.register
def _(loss: CrossEntropy, output: Tensor, weight: Tensor) -> Tensor:
    """diag(p) - p·pᵀ is at most 2·diag(p·(1 - p)), by Gershgorin's circles."""
    if loss.class_weights is not None:
        raise NoCurvature(loss=f"{loss.name} with class weights")
    probabilities = torch.softmax(output, dim=1)
    return _share(weight).unsqueeze(1) * 2 * probabilities * (1 - probabilities)


@curvature.register
def _(loss: BinaryCrossEntropy, output: Tensor, weight: Tensor) -> Tensor:  # noqa: ARG001
    probabilities = torch.sigmoid(output)
    return (_share(weight) / output.shape[1]).unsqueeze(1) * probabilities * (1 - probabilities)


@curvature.register
def _(loss: MeanSquaredError, output: Tensor, weight: Tensor) -> Tensor:  # noqa: ARG001
    return _column(2 * _share(weight) / output[0].numel(), output).expand_as(output)


@soft_targets.register
def _(loss: LossProgram, output: Tensor) -> Tensor:
    match loss.task:
        case "classes":
            return torch.softmax(output, dim=-1)
        case "labels":
            return torch.sigmoid(output)
        case _:
            return output


@soft_targets.register
def _(loss: CrossEntropy, output: Tensor) -> Tensor:  # noqa: ARG001
    return torch.softmax(output, dim=-1)


@soft_targets.register
def _(loss: NextToken, output: Tensor) -> Tensor:  # noqa: ARG001
    return torch.softmax(output, dim=-1)


@soft_targets.register
def _(loss: BinaryCrossEntropy, output: Tensor) -> Tensor:  # noqa: ARG001
    return torch.sigmoid(output)


@soft_targets.register
def _(loss: MeanSquaredError, output: Tensor) -> Tensor:  # noqa: ARG001
    return output


@soft_targets.register
def _(loss: GivenGradient, output: Tensor) -> Tensor:  # noqa: ARG001
    return output


def _cross_entropy(output: Tensor, aims: Tensor) -> tuple[Tensor, Tensor]:
    """-Σ aims·log softmax, and its gradient; the aims at one place need not sum to one."""
    log_probabilities = functional.log_softmax(output, dim=-1)
    gradient = torch.exp(log_probabilities) * aims.sum(dim=-1, keepdim=True) - aims
    return -(aims * log_probabilities).sum(), gradient


def _of_logits(output: Tensor, targets: Tensor) -> Tensor:
    """log(1 + e^z) - t·z, without overflow of the exponential."""
    return torch.clamp(output, min=0.0) + torch.log1p(torch.exp(-output.abs())) - targets * output


def _column(vector: Tensor, beside: Tensor) -> Tensor:
    """`vector` [batch], shaped to broadcast over the samples of `beside` [batch, ...]."""
    return vector.reshape(-1, *[1] * (beside.dim() - 1))


def _share(weight: Tensor, of: Tensor | None = None) -> Tensor:
    """`of`, by default `weight` itself, over the sum of `weight`."""
    return (weight if of is None else of) / torch.clamp(weight.sum(), min=TINY_WEIGHT)


def _smooth(hot: Tensor, smoothing: float) -> Tensor:
    return hot if smoothing == 0 else hot * (1 - smoothing) + smoothing / hot.shape[-1]
