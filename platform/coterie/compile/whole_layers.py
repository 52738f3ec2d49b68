"""Exports recurrent layers with any number of steps.

PyTorch finds the shapes of a layer's results by computing it step by step, which specialises the number of steps to the
example's. Here the shapes are given directly, and a program has its layers with any number of steps.
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
    """The shape of all steps' states; the same whether batch or steps come first."""
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
    """Within the block, nn.LSTM, nn.GRU and nn.RNN can be exported with any number of steps, for sequences of one
    length.
    """
    return shapes_only(SHAPES)


@contextmanager
def shapes_only(shapes: Mapping[OpOverload, Callable[..., object]]) -> Iterator[None]:
    """Within the block, these operators return tensors of their results' shapes, and are not traced further."""
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
    """Any: PyTorch's dispatch keys."""
    operator.py_kernels.update(kernels)
    operator._dispatch_cache.clear()
