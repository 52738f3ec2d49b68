"""The pair for the last five words, int64 [n, 5], 0 before a sentence: a recurrent network each."""

import torch
from torch import Tensor, nn

WORDS = 241


class _Recurrent(nn.Module):
    def __init__(self, width: int, state: int) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.reading = nn.GRU(width, state, batch_first=True)
        self.next = nn.Linear(state, WORDS)

    def forward(self, words: Tensor) -> Tensor:
        states, _ = self.reading(self.words(words))
        logits: Tensor = self.next(states[:, -1])
        return logits


class DeviceModel(_Recurrent):
    """28,249 parameters. [n, 5] to logits [n, 241]."""

    def __init__(self) -> None:
        super().__init__(width=24, state=48)


class CloudModel(_Recurrent):
    """Wider. [n, 5] to logits [n, 241]."""

    def __init__(self) -> None:
        super().__init__(width=64, state=192)


def example() -> Tensor:
    """Two beginnings of a sentence."""
    return torch.zeros(2, 5, dtype=torch.int64)
