from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.fx import GraphModule

from coterie.compile.passes.last_state import last_state
from coterie.compile.program import export_module

Cell = type[nn.GRU | nn.LSTM | nn.RNN]


class Reader(nn.Module):
    """A recurrent layer, and what `read` makes of its states."""

    def __init__(self, cell: Cell, read: Callable[[Tensor], Tensor], **options: bool | int) -> None:
        super().__init__()
        self.layer, self.read = cell(3, 4, **options), read

    def forward(self, x: Tensor) -> Tensor:
        return self.read(self.layer(x)[0])


def passed(module: nn.Module) -> tuple[GraphModule, int]:
    """The program after the pass, which computes the same, and how many selections are left of all states."""
    x = torch.randn(5, 6, 3)
    program = export_module(module, (x,)).graph_module
    after = last_state(program)
    given = [*module.parameters(), x]
    torch.testing.assert_close(after(*given), program(*given))
    selections = [node for node in after.graph.nodes if node.target is torch.ops.aten.select.int]
    return after, sum(node.args[1] != 0 for node in selections)


@pytest.mark.parametrize("cell", [nn.GRU, nn.LSTM, nn.RNN])
def test_the_last_step_is_the_last_state_of_the_upper_layer(cell: Cell) -> None:
    after, left = passed(Reader(cell, lambda states: states[:, -1] * 2, batch_first=True, num_layers=2))
    assert left == 0
    taken = [node.args[1] for node in after.graph.nodes if "getitem" in str(node.target)]
    assert taken == [1], "nobody asks for all states"


@pytest.mark.parametrize(
    ("read", "options"),
    [(lambda states: states[:, -2], {}), (lambda states: states[:, -1], {"bidirectional": True})],
    ids=["another step", "both directions"],
)
def test_other_states_are_left_as_they_are(read: Callable[[Tensor], Tensor], options: dict[str, bool]) -> None:
    assert passed(Reader(nn.GRU, read, batch_first=True, **options))[1] == 1
