"""Recurrent layers whose steps are not counted while a model is exported.

PyTorch finds the shapes of what a layer gives by computing it step by step, which fixes the number of steps at that of
the example. Here the shapes are told at once, and a program states its layers with any number of steps.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch
from torch import Tensor

aten = torch.ops.aten


def _states(x: Tensor, size: int, bidirectional: bool) -> Tensor:
    """Of all steps; whether batch or steps come first is the same here."""
    return x.new_empty(*x.shape[:2], 2 * size if bidirectional else size)


def _lstm(x: Tensor, state: Sequence[Tensor], *options: object) -> tuple[Tensor, Tensor, Tensor]:
    hidden, cell = state
    return _states(x, hidden.shape[2], bool(options[-2])), torch.empty_like(hidden), torch.empty_like(cell)


def _one_state(x: Tensor, hidden: Tensor, *options: object) -> tuple[Tensor, Tensor]:
    return _states(x, hidden.shape[2], bool(options[-2])), torch.empty_like(hidden)


SHAPES = {aten.lstm.input: _lstm, aten.gru.input: _one_state}


@contextmanager
def whole_layers() -> Iterator[None]:
    """While it is open, nn.LSTM and nn.GRU of sequences that all have a length have any number of steps."""
    with ExitStack() as stack:
        for layer, shapes in SHAPES.items():
            stack.enter_context(patch.dict(layer.py_kernels, dict.fromkeys(layer.py_kernels, shapes)))
            layer._dispatch_cache.clear()
        try:
            yield
        finally:
            stack.close()
            for layer in SHAPES:
                layer._dispatch_cache.clear()
