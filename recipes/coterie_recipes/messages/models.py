"""The pair for messages, int64 [n, 13]: at each place, which word belongs there, told from all the others.

So words can be learned from messages alone, each masked in turn (Mikolov et al. 2013, arXiv 1301.3781, section 3.1),
and the kind of a message is what belongs before it (Schick and Schütze 2021, arXiv 2001.07676), where 0 stands.
"""

import torch
from torch import Tensor, nn

WORDS = 329


class _Masked(nn.Module):
    def __init__(self, width: int, state: int) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.reading = nn.Linear(width, state)
        self.belongs = nn.Linear(state, WORDS)

    def forward(self, message: Tensor) -> Tensor:
        is_word = (message != 0).to(torch.float32).unsqueeze(2)
        words = self.words(message) * is_word
        others = (is_word.sum(1, keepdim=True) - is_word).clamp(min=1.0)
        rest = (words.sum(1, keepdim=True) - words) / others
        logits: Tensor = self.belongs(torch.relu(self.reading(rest)))
        return logits


class DeviceModel(_Masked):
    """22,441 parameters. [n, 13] to logits [n, 13, 329]."""

    def __init__(self) -> None:
        super().__init__(width=32, state=32)


class CloudModel(_Masked):
    """Wider. [n, 13] to logits [n, 13, 329]."""

    def __init__(self) -> None:
        super().__init__(width=96, state=128)


def example() -> Tensor:
    """Two messages of one word."""
    return torch.tensor([[0, 9] + [0] * 11] * 2)
