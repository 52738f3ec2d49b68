from collections.abc import Callable, Mapping
from functools import partial

import pytest
import torch
from torch import nn

from coterie.compile import recurrent

Cell = Callable[..., nn.RNNBase]


RECTIFIED = partial(nn.RNN, nonlinearity="relu")
COMPUTE: Mapping[Cell, Callable[..., tuple[torch.Tensor, ...]]] = {
    nn.LSTM: recurrent.lstm,
    nn.GRU: recurrent.gru,
    nn.RNN: recurrent.rnn_tanh,
    RECTIFIED: recurrent.rnn_relu,
}


@pytest.mark.parametrize("cell", COMPUTE)
@pytest.mark.parametrize(
    "options",
    [{}, {"batch_first": True, "bias": False}, {"num_layers": 2, "bidirectional": True}],
    ids=str,
)
def test_states_and_gradients_equal_pytorch(cell: Cell, options: dict[str, bool | int]) -> None:
    torch.manual_seed(0)
    layer = cell(3, 4, **options)
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    x = torch.randn(5, 6, 3, requires_grad=True)
    batch = x.shape[0] if layer.batch_first else x.shape[1]
    start = [torch.randn(count, batch, 4, requires_grad=True) for _ in range(2 if cell is nn.LSTM else 1)]
    weights = list(layer.parameters())
    given = (layer.bias, layer.num_layers, 0.0, True, layer.bidirectional, layer.batch_first)
    ours = COMPUTE[cell](x, start if cell is nn.LSTM else start[0], weights, *given)
    states, ends = layer(x, tuple(start) if cell is nn.LSTM else start[0])
    theirs = (states, *ends) if cell is nn.LSTM else (states, ends)
    for own, wanted in zip(ours, theirs, strict=True):
        torch.testing.assert_close(own, wanted)
    mixture = [torch.randn_like(part) for part in theirs]
    sources = [x, *start, *weights]
    gradients = [torch.autograd.grad(parts, sources, mixture) for parts in (ours, theirs)]
    for own, wanted in zip(*gradients, strict=True):
        torch.testing.assert_close(own, wanted)


def test_dropout_between_layers_is_for_training_alone() -> None:
    torch.manual_seed(0)
    layer = nn.LSTM(3, 4, num_layers=2)
    x, start = torch.randn(5, 6, 3), [torch.zeros(2, 6, 4)] * 2
    weights = list(layer.parameters())
    kept = recurrent.lstm(x, start, weights, True, 2, 0.9, False, False, False)[0]
    dropped = recurrent.lstm(x, start, weights, True, 2, 0.9, True, False, False)[0]
    torch.testing.assert_close(kept, layer(x)[0])
    assert not torch.allclose(kept, dropped)


@pytest.mark.parametrize("cell", COMPUTE)
def test_gradients_of_the_last_state_alone_equal_pytorch(cell: Cell) -> None:
    torch.manual_seed(0)
    layer, x = cell(3, 4), torch.randn(5, 6, 3, requires_grad=True)
    start = [torch.zeros(1, 6, 4)] * 2
    weights = list(layer.parameters())
    ours = COMPUTE[cell](x, start if cell is nn.LSTM else start[0], weights, True, 1, 0.0, True, False, False)[1]
    theirs = layer(x)[1][0] if cell is nn.LSTM else layer(x)[1]
    torch.testing.assert_close(ours, theirs)
    gradients = [torch.autograd.grad((end * end).sum(), [x, *weights]) for end in (ours, theirs)]
    for own, wanted in zip(*gradients, strict=True):
        torch.testing.assert_close(own, wanted)
