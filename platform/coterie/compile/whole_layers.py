"""Recurrent layers whose steps are not counted while a model is exported.

PyTorch finds the shapes of what a layer gives by computing it step by step, which fixes the number of steps at that of
the example. Here the shapes are told at once, and a program states its layers with any number of steps.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
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


@contextmanager
def whole_layers() -> Iterator[None]:
    """While it is open, nn.LSTM, nn.GRU and nn.RNN of sequences that all have a length have any number of steps."""
    kept = {layer: dict(layer.py_kernels) for layer in SHAPES}
    try:
        for layer, shapes in SHAPES.items():
            _compute_by(layer, dict.fromkeys(kept[layer], shapes))
        yield
    finally:
        for layer, kernels in kept.items():
            _compute_by(layer, kernels)


def _compute_by(layer: OpOverload, kernels: Mapping[Any, Callable[..., object]]) -> None:
    """Any: PyTorch's keys of where an operator is computed."""
    layer.py_kernels.update(kernels)
    layer._dispatch_cache.clear()
