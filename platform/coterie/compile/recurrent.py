"""Recurrent layers as loops over time, with gradients whose loop contains only what depends on the step before.

PyTorch's own gradient visits every operator of every step. Here everything that is known after the forward pass is
computed for all steps at once, and the gradients of weights are one matrix product over all steps. Sequences come
first: x is [steps, batch, features]. The formulas are those of PyTorch's `LSTM`, `GRU` and `RNN`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor
from torch._decomp import decompositions as torch_decompositions
from torch.autograd.function import FunctionCtx

from coterie.compile.dropout import dropout as drop
from coterie.compile.stepping import Tensors, over_steps, steps

State = TypeVar("State")


class _Context(FunctionCtx):
    saved_tensors: tuple[Tensor, ...]


class _RnnContext(_Context):
    rectified: bool


Gradient = Tensor | None
"""None stands for zeros."""


class LstmSteps(torch.autograd.Function):
    """States of an LSTM, given its gates' input parts [steps, batch, 4 · hidden] as i, f, g, o."""

    @staticmethod
    def forward(gates: Tensor, hidden: Tensor, cell: Tensor, recurrent: Tensor) -> tuple[Tensor, ...]:
        """The states [steps, batch, hidden], the last hidden and cell; then the tensors of all steps that the
        gradient needs.
        """
        (hidden, cell), (states, *others) = over_steps(_lstm_step, (hidden, cell), [gates], [recurrent.t()])
        return states, hidden, cell, *others

    @staticmethod
    def setup_context(ctx: _Context, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*output[3:])
        ctx.save_for_backward(inputs[3], *output[3:])

    @staticmethod
    def backward(ctx: _Context, *gradients: Gradient) -> tuple[Tensor, ...]:
        recurrent, hidden, cell, enter, stay, new, out, shown = ctx.saved_tensors
        for_hidden, for_cell = (_given(gradient, hidden[0]) for gradient in gradients[1:3])
        to_cell = out * (1 - shown * shown)
        to_enter, to_stay = new * enter * (1 - enter), cell * stay * (1 - stay)
        to_new, to_out = enter * (1 - new * new), shown * out * (1 - out)
        to_gates = torch.cat([to_enter, to_stay, to_new, to_out], dim=2)
        (for_hidden, for_cell), (for_gates,) = over_steps(
            _lstm_step_back,
            (for_hidden, for_cell),
            [to_cell, to_gates, stay, *_needed(gradients[0])],
            [recurrent],
            reverse=True,
        )
        return for_gates, for_hidden, for_cell, _over_all(for_gates, hidden)


@steps
def _lstm_step(state: Tensors, row: Tensors, shared: Tensors) -> tuple[Tensors, Tensors]:
    (hidden, cell), (from_input,), (weights,) = state, row, shared
    size = hidden.shape[1]
    inner, new, out = torch.split(torch.addmm(from_input, hidden, weights), [2 * size, size, size], dim=1)
    enter, stay = torch.sigmoid(inner).chunk(2, dim=1)
    new, out = torch.tanh(new), torch.sigmoid(out)
    after = stay * cell + enter * new
    shown = torch.tanh(after)
    now = out * shown
    return (now, after), (now, hidden, cell, enter, stay, new, out, shown)


@steps
def _lstm_step_back(state: Tensors, row: Tensors, shared: Tensors) -> tuple[Tensors, Tensors]:
    (for_hidden, for_cell), (to_cell, to_gates, stay, *asked), (recurrent,) = state, row, shared
    for more in asked:
        for_hidden = for_hidden + more
    for_cell = for_hidden * to_cell + for_cell
    for_gate = torch.cat([for_cell, for_cell, for_cell, for_hidden], dim=1) * to_gates
    return (for_gate @ recurrent, for_cell * stay), (for_gate,)


class GruSteps(torch.autograd.Function):
    """States of a GRU, given its gates' input parts [steps, batch, 3 · hidden] as r, z, n."""

    @staticmethod
    def forward(gates: Tensor, hidden: Tensor, recurrent: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        """The states [steps, batch, hidden] and the last one; then the tensors of all steps that the gradient needs."""
        size = hidden.shape[1]
        inner, outer = torch.split(gates, [2 * size, size], dim=2)
        (hidden,), (states, *others) = over_steps(_gru_step, [hidden], [inner, outer], [recurrent.t(), bias])
        return states, hidden, *others

    @staticmethod
    def setup_context(ctx: _Context, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*output[2:])
        ctx.save_for_backward(inputs[2], *output[2:])

    @staticmethod
    def backward(ctx: _Context, *gradients: Gradient) -> tuple[Tensor, ...]:
        recurrent, hidden, reset, stay, new, new_from_hidden, change = ctx.saved_tensors
        for_hidden = _given(gradients[1], hidden[0])
        to_new = (1 - stay) * (1 - new * new)
        to_reset, to_stay = to_new * (new_from_hidden * reset * (1 - reset)), change * stay * (1 - stay)
        to_gates = torch.cat([to_reset, to_stay, to_new * reset], dim=2)
        (for_hidden,), (from_hidden, for_each) = over_steps(
            _gru_step_back, [for_hidden], [to_gates, stay, *_needed(gradients[0])], [recurrent], reverse=True
        )
        inner = from_hidden.narrow(2, 0, 2 * hidden.shape[2])
        from_input = torch.cat([inner, for_each * to_new], dim=2)
        return from_input, for_hidden, _over_all(from_hidden, hidden), from_hidden.sum(dim=[0, 1])


@steps
def _gru_step(state: Tensors, row: Tensors, shared: Tensors) -> tuple[Tensors, Tensors]:
    (hidden,), (from_input, new_from_input), (weights, bias) = state, row, shared
    size = hidden.shape[1]
    from_hidden, new_from_hidden = torch.split(torch.addmm(bias, hidden, weights), [2 * size, size], dim=1)
    reset, stay = torch.sigmoid(from_input + from_hidden).chunk(2, dim=1)
    new = torch.tanh(new_from_input + reset * new_from_hidden)
    change = hidden - new
    after = new + stay * change
    return [after], (after, hidden, reset, stay, new, new_from_hidden, change)


@steps
def _gru_step_back(state: Tensors, row: Tensors, shared: Tensors) -> tuple[Tensors, Tensors]:
    (for_hidden,), (to_gates, stay, *asked), (recurrent,) = state, row, shared
    for more in asked:
        for_hidden = for_hidden + more
    for_gate = torch.cat([for_hidden, for_hidden, for_hidden], dim=1) * to_gates
    return [torch.addmm(for_hidden * stay, for_gate, recurrent)], (for_gate, for_hidden)


class RnnSteps(torch.autograd.Function):
    """States of an Elman network, given its input part [steps, batch, hidden]."""

    @staticmethod
    def forward(from_input: Tensor, hidden: Tensor, recurrent: Tensor, rectified: bool) -> tuple[Tensor, ...]:
        """The states [steps, batch, hidden] and the last one; then the state before each step."""
        step = _rectified_step if rectified else _tanh_step
        (hidden,), (states, before) = over_steps(step, [hidden], [from_input], [recurrent.t()])
        return states, hidden, before

    @staticmethod
    def setup_context(
        ctx: _RnnContext, inputs: tuple[Tensor, Tensor, Tensor, bool], output: tuple[Tensor, ...]
    ) -> None:
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(output[2])
        ctx.save_for_backward(inputs[2], output[0], output[2])
        ctx.rectified = inputs[3]

    @staticmethod
    def backward(ctx: _RnnContext, *gradients: Gradient) -> tuple[Gradient, ...]:
        recurrent, states, before = ctx.saved_tensors
        slope = (states > 0).to(states.dtype) if ctx.rectified else 1 - states * states
        (for_hidden,), (for_input,) = over_steps(
            _rnn_step_back,
            [_given(gradients[1], before[0])],
            [slope, *_needed(gradients[0])],
            [recurrent],
            reverse=True,
        )
        return for_input, for_hidden, _over_all(for_input, before), None


@steps
def _tanh_step(state: Tensors, row: Tensors, shared: Tensors) -> tuple[Tensors, Tensors]:
    (hidden,), (from_input,), (weights,) = state, row, shared
    after = torch.tanh(torch.addmm(from_input, hidden, weights))
    return [after], (after, hidden)


@steps
def _rectified_step(state: Tensors, row: Tensors, shared: Tensors) -> tuple[Tensors, Tensors]:
    (hidden,), (from_input,), (weights,) = state, row, shared
    after = torch.relu(torch.addmm(from_input, hidden, weights))
    return [after], (after, hidden)


@steps
def _rnn_step_back(state: Tensors, row: Tensors, shared: Tensors) -> tuple[Tensors, Tensors]:
    (for_hidden,), (slope, *asked), (recurrent,) = state, row, shared
    for more in asked:
        for_hidden = for_hidden + more
    for_input = for_hidden * slope
    return [for_input @ recurrent], [for_input]


def _given(gradient: Gradient, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if gradient is None else gradient


def _needed(gradient: Gradient) -> Tensors:
    """The gradient by the state of each step; no tensor where it is not needed."""
    return [] if gradient is None else [gradient]


def _over_all(gradients: Tensor, inputs: Tensor) -> Tensor:
    """The gradient of a weight that multiplies every step of every sample."""
    return gradients.flatten(0, 1).t() @ inputs.flatten(0, 1)


def _from_input(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """One product for all steps, including the bias."""
    return torch.nn.functional.linear(x.flatten(0, 1), weight, bias).reshape(*x.shape[:2], -1)


def _lstm_layer(
    x: Tensor, state: tuple[Tensor, Tensor], weights: Sequence[Tensor], has_biases: bool, reverse: bool = False
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    bias = weights[2] + weights[3] if has_biases else None
    gates = _from_input(x.flip(0) if reverse else x, weights[0], bias)
    states, hidden, cell, *_ = LstmSteps.apply(gates, *state, weights[1])  # type: ignore[no-untyped-call]
    return states.flip(0) if reverse else states, (hidden, cell)


def _gru_layer(
    x: Tensor, state: Tensor, weights: Sequence[Tensor], has_biases: bool, reverse: bool = False
) -> tuple[Tensor, Tensor]:
    gates = _from_input(x.flip(0) if reverse else x, weights[0], weights[2] if has_biases else None)
    bias = weights[3] if has_biases else torch.zeros_like(weights[1][:, 0])
    states, hidden, *_ = GruSteps.apply(gates, state, weights[1], bias)  # type: ignore[no-untyped-call]
    return states.flip(0) if reverse else states, hidden


def _rnn_layer(
    x: Tensor,
    state: Tensor,
    weights: Sequence[Tensor],
    has_biases: bool,
    reverse: bool = False,
    *,
    rectified: bool,
) -> tuple[Tensor, Tensor]:
    bias = weights[2] + weights[3] if has_biases else None
    from_input = _from_input(x.flip(0) if reverse else x, weights[0], bias)
    states, hidden, _ = RnnSteps.apply(from_input, state, weights[1], rectified)  # type: ignore[no-untyped-call]
    return states.flip(0) if reverse else states, hidden


def _layers(
    layer: Callable[..., tuple[Tensor, State]],
    x: Tensor,
    starts: Sequence[State],
    weights: Sequence[Tensor],
    has_biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, list[State]]:
    """All layers, in both directions where requested; also the last state of each."""
    each = 4 if has_biases else 2
    remaining = iter([weights[first : first + each] for first in range(0, len(weights), each)])
    begin, ends = iter(starts), []
    states = x.transpose(0, 1) if batch_first else x
    for number in range(layers):
        if number and train and dropout:
            states = drop(states, dropout, train=True)
        directions = []
        for reverse in (False, True) if bidirectional else (False,):
            found, end = layer(states, next(begin), next(remaining), has_biases, reverse)
            directions.append(found)
            ends.append(end)
        states = torch.cat(directions, dim=2) if bidirectional else directions[0]
    return states.transpose(0, 1) if batch_first else states, ends


def lstm(
    x: Tensor,
    state: Sequence[Tensor],
    weights: Sequence[Tensor],
    has_biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """``aten.lstm.input``; projected states are left to PyTorch."""
    options = (dropout, train, bidirectional, batch_first)
    if state[0].shape[2] != state[1].shape[2]:
        projected: tuple[Tensor, Tensor, Tensor] = torch_decompositions.lstm_impl(
            x, state, weights, has_biases, layers, *options
        )
        return projected
    starts = list(zip(state[0].unbind(0), state[1].unbind(0), strict=True))
    states, ends = _layers(_lstm_layer, x, starts, weights, has_biases, layers, *options)
    hidden, cell = (torch.stack(column) for column in zip(*ends, strict=True))
    return states, hidden, cell


def _of_one_state(layer: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., tuple[Tensor, Tensor]]:
    """An ATen operator for layers of this kind, whose state is one tensor."""

    def compute(
        x: Tensor,
        state: Tensor,
        weights: Sequence[Tensor],
        has_biases: bool,
        layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, Tensor]:
        options = (dropout, train, bidirectional, batch_first)
        states, ends = _layers(layer, x, list(state.unbind(0)), weights, has_biases, layers, *options)
        return states, torch.stack(ends)

    return compute


gru = _of_one_state(_gru_layer)
"""``aten.gru.input``."""
rnn_tanh = _of_one_state(partial(_rnn_layer, rectified=False))
"""``aten.rnn_tanh.input``."""
rnn_relu = _of_one_state(partial(_rnn_layer, rectified=True))
"""``aten.rnn_relu.input``."""
