"""The halves of the network: the bank's, and the insurer's, which takes what the bank's gives. PyTorch."""

import torch
from torch import Tensor, nn

from coterie_recipes.two_parties.generator import BANK_COLUMNS, CLASSES, INSURER_COLUMNS

WIDTH = 16
"""Numbers that pass the cut for each person."""
BATCH_SIZE = 64
LOWER_RECIPE = {"loss": {"kind": "given_gradient"}, "distillation": False}
UPPER_RECIPE = {"cut": "beside", "distillation": False}


class Lower(nn.Module):
    """The bank's half. [n, 12] to [n, 16]."""

    def __init__(self, columns: int = BANK_COLUMNS) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(columns, 64), nn.ReLU(), nn.Linear(64, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.layers(x)
        return found


class Upper(nn.Module):
    """The insurer's half. [n, 10], and [n, 16] of the bank, to logits [n, 8]."""

    def __init__(self) -> None:
        super().__init__()
        self.own = Lower(INSURER_COLUMNS)
        self.top = nn.Sequential(nn.ReLU(), nn.Linear(2 * WIDTH, 64), nn.ReLU(), nn.Linear(64, len(CLASSES)))

    def forward(self, x: Tensor, beside: Tensor) -> Tensor:
        found: Tensor = self.top(torch.cat([self.own(x), beside], dim=1))
        return found


def lower_example() -> tuple[Tensor, ...]:
    """Inputs of `Lower`."""
    return (torch.zeros(2, BANK_COLUMNS),)


def upper_example() -> tuple[Tensor, ...]:
    """Inputs of `Upper`."""
    return (torch.zeros(2, INSURER_COLUMNS), torch.zeros(2, WIDTH))
