"""Packed sequences during export: padded, with a mask of the valid steps.

The result of `torch.nn.utils.rnn.pack_padded_sequence` has a size that depends on the data. Here the data of a packed
sequence are the unchanged [steps, batch, features], and its batch sizes a mask [steps, batch]. `nn.LSTM`, `nn.GRU` and
`nn.RNN` read each sample to its end, and backwards from there, and `pad_packed_sequence` pads again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

LAYERS: tuple[type[nn.RNNBase], ...] = (nn.LSTM, nn.GRU, nn.RNN)
SHUT = 1e4
"""A sigmoid of it is 1 in float32, and of its negative 0."""


def pack(x: Tensor, lengths: Tensor, batch_first: bool) -> PackedSequence:
    """``pack_padded_sequence``, of samples in any order."""
    data = x.transpose(0, 1) if batch_first else x
    mask = torch.arange(data.shape[0]).unsqueeze(1) < torch.as_tensor(lengths)
    return PackedSequence(data, mask.to(torch.int64))


def pad(packed: PackedSequence, batch_first: bool, value: float, total_length: int | None) -> tuple[Tensor, Tensor]:
    """``pad_packed_sequence``, to as many steps as before, and the lengths."""
    data, mask, *_ = packed
    shown = mask.reshape(*mask.shape, *[1] * (data.dim() - 2)) > 0
    filled = torch.where(shown, data, value)
    if total_length is not None and total_length != data.shape[0]:
        more = [*[0, 0] * (data.dim() - 1), 0, total_length - data.shape[0]]
        filled = functional.pad(filled, more, value=value)
    return filled.transpose(0, 1) if batch_first else filled, mask.sum(dim=0)


def _pack_padded_sequence(
    input: Tensor,
    lengths: Tensor,
    batch_first: bool = False,
    enforce_sorted: bool = True,  # noqa: ARG001
) -> PackedSequence:
    from coterie.compile.packed import pack  # the code runs as that of another module

    return pack(input, lengths, batch_first)


def _pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    from coterie.compile.packed import pad  # the code runs as that of another module

    return pad(sequence, batch_first, padding_value, total_length)


CODES = {pack_padded_sequence: _pack_padded_sequence, pad_packed_sequence: _pad_packed_sequence}
"""Functions that models have imported by name, and their replacements."""

States = Tensor | tuple[Tensor, Tensor]


@contextmanager
def packed_sequences() -> Iterator[None]:
    """Within the block, functions and layers take packed sequences in this form."""
    kept = {kind: kind.forward for kind in LAYERS}
    codes = {function: function.__code__ for function in CODES}
    try:
        for function, instead in CODES.items():
            function.__code__ = instead.__code__
        for kind, forward in kept.items():
            kind.forward = _taking_packed(forward)
        yield
    finally:
        for function, code in codes.items():
            function.__code__ = code
        for kind, forward in kept.items():
            kind.forward = forward


def _taking_packed(forward: Callable[..., object]) -> Callable[..., object]:
    def either(layer: nn.RNNBase, x: Tensor | PackedSequence, state: States | None = None) -> object:
        return _read(layer, x, state) if isinstance(x, PackedSequence) else forward(layer, x, state)

    return either


def _read(layer: nn.RNNBase, packed: PackedSequence, state: States | None) -> tuple[PackedSequence, States]:
    """All layers, in each direction; each sample's last states are those at its end."""
    x, mask, *_ = packed
    starts = _starts(layer, x, state)
    steps, lengths = torch.arange(x.shape[0]).unsqueeze(1), mask.sum(dim=0)
    turned = torch.where(steps < lengths, lengths - 1 - steps, steps)
    last = (lengths - 1).clamp(min=0).reshape(1, -1, 1)
    ends: list[list[Tensor]] = []
    for number in range(layer.num_layers):
        if number and layer.dropout:
            x = functional.dropout(x, layer.dropout, layer.training)
        found = []
        for backwards in (False, True) if layer.bidirectional else (False,):
            start = [each[len(ends) : len(ends) + 1] for each in starts]
            weights = layer.all_weights[len(ends)]
            states, *cells = _one_way(layer, _turn(x, turned) if backwards else x, mask, start, weights)
            ends.append([states.gather(0, last.expand(1, -1, states.shape[2])), *cells])
            found.append(_turn(states, turned) if backwards else states)
        x = torch.cat(found, dim=2)
    joined = [torch.cat(column) for column in zip(*ends, strict=True)]
    end: States = (joined[0], joined[1]) if isinstance(layer, nn.LSTM) else joined[0]
    return PackedSequence(x, mask), end


def _starts(layer: nn.RNNBase, x: Tensor, state: States | None) -> Sequence[Tensor]:
    if state is not None:
        return [state] if isinstance(state, Tensor) else state
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    hidden = x.new_zeros(count, x.shape[1], layer.proj_size or layer.hidden_size)
    return [hidden, x.new_zeros(count, x.shape[1], layer.hidden_size)] if isinstance(layer, nn.LSTM) else [hidden]


def _one_way(
    layer: nn.RNNBase, x: Tensor, mask: Tensor, start: Sequence[Tensor], weights: Sequence[Tensor]
) -> Sequence[Tensor]:
    """The states of all steps, and of an LSTM the cell at each sample's end: after it, the state does not change."""
    options = (layer.bias, 1, 0.0, layer.training, False, False)
    if not isinstance(layer, nn.LSTM):
        states, _ = getattr(torch._VF, layer.mode.lower())(x, start[0], weights, *options)
        return [states]
    absent = (1 - mask).to(x.dtype).unsqueeze(2)
    gates = torch.tensor([-SHUT, SHUT, 0.0, 0.0]).repeat_interleave(layer.hidden_size).unsqueeze(1)
    first, *others = weights
    states, _, cell = torch._VF.lstm(
        torch.cat([x, absent], dim=2), list(start), [torch.cat([first, gates], dim=1), *others], *options
    )
    return [states, cell]


def _turn(x: Tensor, turned: Tensor) -> Tensor:
    return x.gather(0, turned.unsqueeze(2).expand_as(x))
