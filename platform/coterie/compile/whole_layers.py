"""Recurrent layers whose steps are not counted while a model is exported.

PyTorch finds the shapes of what a layer gives by computing it step by step, which fixes the number of steps at that of
the example. Here the shapes are told at once, and a program states its layers with any number of steps.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._C import DispatchKey
from torch._ops import OpOverload

aten = torch.ops.aten


def _states(x: Tensor, size: int, bidirectional: bool) -> Tensor:
    """Of all steps; whether batch or steps come first is the same here."""
    return x.new_empty(*x.shape[:2], 2 * size if bidirectional else size)


def _lstm(x: Tensor, state: Sequence[Tensor], *options: object) -> tuple[Tensor, Tensor, Tensor]:
    hidden, cell = state
    return _states(x, hidden.shape[2], bool(options[-2])), torch.empty_like(hidden), torch.empty_like(cell)


def _one_state(x: Tensor, hidden: Tensor, *options: object) -> tuple[Tensor, Tensor]:
    return _states(x, hidden.shape[2], bool(options[-2])), torch.empty_like(hidden)


SHAPES: Mapping[OpOverload, Callable[..., object]] = {
    aten.lstm.input: _lstm,
    aten.gru.input: _one_state,
    aten.rnn_tanh.input: _one_state,
    aten.rnn_relu.input: _one_state,
}


def whole_layers() -> AbstractContextManager[None]:
    """While it is open, nn.LSTM, nn.GRU and nn.RNN of sequences that all have a length have any number of steps."""
    return told_by_shapes(SHAPES)


@contextmanager
def told_by_shapes(shapes: Mapping[OpOverload, Callable[..., object]]) -> Iterator[None]:
    """While it is open, each operator gives what is as large as its results, and is not looked into."""
    kept = {operator: dict(operator.py_kernels) for operator in shapes}
    try:
        for operator, given in shapes.items():
            _compute_by(operator, dict.fromkeys(kept[operator] or (DispatchKey.CompositeImplicitAutograd,), given))
        yield
    finally:
        for operator, kernels in kept.items():
            operator.py_kernels.clear()
            _compute_by(operator, kernels)


def _compute_by(operator: OpOverload, kernels: Mapping[Any, Callable[..., object]]) -> None:
    """Any: PyTorch's keys of where an operator is computed."""
    operator.py_kernels.update(kernels)
    operator._dispatch_cache.clear()
