"""Connectionist temporal classification (Graves et al. 2006, doi 10.1145/1143844.1143891) as a loop over time.

Labels are written with blanks around each. At each step a path is at one of these places; it stays, moves to the next,
or skips one where the place after that has another label. `alpha` is the logarithm of the probability of all paths to a
place; the gradient follows, backwards in time, the shares of the preceding places in it.
"""

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn import functional

from coterie.compile.stepping import Tensors, over_steps, steps

NEVER = -1e30
"""In place of the logarithm of 0; its sums and differences are finite."""
IMPOSSIBLE = 1e29
"""A greater loss means that no path gives the labels."""
EACH, MEAN = 0, 1


class _Context(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]


class Paths(torch.autograd.Function):
    """alpha [batch, places] after the last step, from that after the first and `emitted` [steps, batch, places]."""

    @staticmethod
    def forward(emitted: Tensor, going: Tensor, leaps: Tensor, alpha: Tensor) -> tuple[Tensor, ...]:
        """`going` [steps, batch, 1] is 1 while the input lasts; `leaps` [batch, places] is 0 where a place may be
        skipped.
        """
        (alpha,), shares = over_steps(_step, [alpha], [emitted, going], [leaps])
        return alpha, *shares

    @staticmethod
    def setup_context(ctx: _Context, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(inputs[1], *output[1:])

    @staticmethod
    def backward(ctx: _Context, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (first,), (for_emitted,) = over_steps(_step_back, [gradients[0]], list(ctx.saved_tensors), [], reverse=True)
        return for_emitted, None, None, first


@steps
def _step(state: Tensors, row: Tensors, shared: Tensors) -> tuple[Tensors, Tensors]:
    (alpha,), (emitted, going), (leaps,) = state, row, shared
    next_to = functional.pad(alpha, [1, 0], value=NEVER).narrow(1, 0, alpha.shape[1])
    beyond = functional.pad(alpha, [2, 0], value=NEVER).narrow(1, 0, alpha.shape[1]) + leaps
    greatest = torch.maximum(torch.maximum(alpha, next_to), beyond)
    stay, move, leap = (torch.exp(way - greatest) for way in (alpha, next_to, beyond))
    total = stay + move + leap
    after = emitted + greatest + torch.log(total)
    return [torch.where(going > 0, after, alpha)], [stay / total, move / total, leap / total]


@steps
def _step_back(state: Tensors, row: Tensors, shared: Tensors) -> tuple[Tensors, Tensors]:  # noqa: ARG001
    (for_alpha,), (going, stay, move, leap) = state, row
    size, kept = for_alpha.shape[1], for_alpha * going
    moved = functional.pad(kept * move, [0, 1]).narrow(1, 1, size)
    leapt = functional.pad(kept * leap, [0, 2]).narrow(1, 2, size)
    return [for_alpha - kept + kept * stay + moved + leapt], [kept]


def ctc_loss(
    log_probabilities: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: int = MEAN,
    zero_infinity: bool = False,
) -> Tensor:
    """``aten.ctc_loss.Tensor`` of `log_probabilities` [steps, batch, labels] and `targets` [batch, longest]."""
    if targets.dim() != 2:
        raise NotImplementedError("its targets are end to end: give them filled up, [batch, longest]")
    batch, places = targets.shape[0], 2 * targets.shape[1] + 1
    written = torch.stack([torch.full_like(targets, blank), targets], dim=2).flatten(1)
    written = functional.pad(written, [0, 1], value=blank)
    before = functional.pad(written, [2, 0], value=blank).narrow(1, 0, places)
    leaps = torch.where((written != blank) & (written != before), 0.0, NEVER)
    count = log_probabilities.shape[0]
    emitted = log_probabilities.gather(2, written.unsqueeze(0).expand(count, batch, places))
    alpha = torch.where(torch.arange(places) < 2, emitted[0], NEVER)
    going = (torch.arange(count).unsqueeze(1) < input_lengths).to(emitted.dtype).unsqueeze(2)
    alpha, *_ = Paths.apply(emitted[1:], going[1:], leaps, alpha)  # type: ignore[no-untyped-call]
    last = 2 * target_lengths.unsqueeze(1)
    ends = (torch.arange(places) == last) | (torch.arange(places) == last - 1)
    losses = -torch.logsumexp(torch.where(ends, alpha, NEVER), dim=1)
    losses = torch.where(losses < IMPOSSIBLE, losses, 0.0 if zero_infinity else torch.inf)
    if reduction == EACH:
        return losses
    shares = losses / target_lengths.clamp(min=1) if reduction == MEAN else losses
    return shares.mean() if reduction == MEAN else shares.sum()
