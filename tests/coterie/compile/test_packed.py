"""Packed sequences follow PyTorch at every length, for samples in any order, from an uploaded file."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from coterie.compile.program import export_module
from coterie.compile.trial import try_training
from coterie_wire.length import Length
from tests.coterie.compile import test_lengths
from tests.zoo.entry import Entry, Sentences

WORDS, CLASSES = 20, 3


class BothEnds(nn.Module):
    """Attention to the states of words read from both ends, beside the last states and cells."""

    def __init__(self, kind: type[nn.RNNBase], layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 4)
        self.layers = kind(4, 3, num_layers=layers, bidirectional=True, batch_first=True)
        ends = 2 if kind is nn.LSTM else 1
        self.scores, self.head = nn.Linear(6, 1), nn.Linear(6 + 6 * layers * ends, CLASSES)

    def forward(self, words: Tensor) -> Tensor:
        lengths = (words != 0).sum(dim=1)
        packed = pack_padded_sequence(self.embedding(words), lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, ends = self.layers(packed)
        x, again = pad_packed_sequence(states, batch_first=True, total_length=words.shape[1])
        present = torch.arange(words.shape[1]) < again.unsqueeze(1)
        weights = self.scores(x).squeeze(-1).masked_fill(~present, -torch.inf).softmax(dim=1)
        seen = [(weights.unsqueeze(2) * x).sum(dim=1)]
        for end in ends if isinstance(ends, tuple) else (ends,):
            seen.append(end.transpose(0, 1).flatten(1))
        logits: Tensor = self.head(torch.cat(seen, dim=1))
        return logits


def entry(kind: type[nn.RNNBase], layers: int) -> Entry:
    length = Length(1, 9, {"words": 0})
    return Entry(lambda: BothEnds(kind, layers), (Sentences((9,), WORDS),), CLASSES, length=length)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "layers"), [(nn.LSTM, 2), (nn.GRU, 1)], ids=["lstm", "gru"])
def test_layers_that_read_packed_sequences_follow_pytorch(kind: type[nn.RNNBase], layers: int) -> None:
    tried = entry(kind, layers)
    test_lengths.follow(tried, steps=9)
    try_training(test_lengths.uploaded_once(tried), test_lengths.compiled(tried))


class Sorted(nn.Module):
    """Says that its samples come in the order of their lengths, and starts from states of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.RNN(4, 3, dropout=0.0)

    def forward(self, x: Tensor, lengths: Tensor, state: Tensor) -> Tensor:
        packed = pack_padded_sequence(x.transpose(0, 1), lengths)
        states, end = self.layer(packed, state.unsqueeze(0))
        padded, _ = pad_packed_sequence(states, padding_value=-1.0, total_length=7)
        return torch.cat([padded.transpose(0, 1).flatten(1), end[0]], dim=1)


def test_states_and_what_fills_up_are_as_in_pytorch() -> None:
    module, lengths = Sorted(), torch.tensor([5, 5, 3, 1])
    x, state = torch.randn(4, 5, 4), torch.randn(4, 3)
    program = export_module(module, (x, lengths, state))
    torch.testing.assert_close(program.module()(x, lengths, state), module(x, lengths, state))


def test_samples_need_no_order() -> None:
    """Those of a device come as they are, where PyTorch refuses them."""
    module, lengths, x, state = Sorted(), torch.tensor([1, 5, 3]), torch.randn(3, 5, 4), torch.randn(3, 3)
    program = export_module(module, (x, lengths, state))
    order = lengths.argsort(descending=True)
    wanted = module(x[order], lengths[order], state[order])
    torch.testing.assert_close(program.module()(x, lengths, state)[order], wanted)
