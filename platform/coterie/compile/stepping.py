"""A sequence of steps as one operator, which becomes a loop in the graph."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.fx.node import Argument, Node

Tensors = Sequence[Tensor]
Step = Callable[[Tensors, Tensors, Tensors], tuple[Tensors, Tensors]]
"""From the state before it, the rows of the step, and tensors that all steps share: the state after it, and output
rows.
"""

_STEPS: dict[str, Step] = {}


def steps(step: Step) -> Step:
    """Register a function for `over_steps`."""
    _STEPS[step.__name__] = step
    return step


def over_steps(
    step: Step, state: Tensors, sequences: Tensors, shared: Tensors, *, reverse: bool = False
) -> tuple[Tensors, Tensors]:
    """The last state, and the steps' outputs, [steps, …]; `sequences` have a row for each of any number of steps.

    With `reverse` the last step is computed first; the outputs are in the order of `sequences` nevertheless.
    """
    found = _loop(step.__name__, list(state), list(sequences), list(shared), reverse)
    return found[: len(state)], found[len(state) :]


@torch.library.custom_op("coterie::loop", mutates_args=())
def _loop(step: str, state: list[Tensor], sequences: list[Tensor], shared: list[Tensor], reverse: bool) -> list[Tensor]:
    """The last state, then the steps' outputs."""
    last: Tensors = state
    given: list[Tensors] = []
    rows = list(zip(*sequences, strict=True))
    for row in reversed(rows) if reverse else rows:
        last, found = _STEPS[step](last, row, shared)
        given.append(found)
    columns = zip(*(reversed(given) if reverse else given), strict=True)
    return [*(tensor.clone() for tensor in last), *(torch.stack(column) for column in columns)]


@_loop.register_fake
def _(
    step: str,
    state: list[Tensor],
    sequences: list[Tensor],
    shared: list[Tensor],
    reverse: bool,  # noqa: ARG001 - shapes are the same
) -> list[Tensor]:
    last, given = _STEPS[step](state, [_row(sequence) for sequence in sequences], shared)
    count = sequences[0].shape[0]
    return [*map(torch.empty_like, last), *(row.new_empty(count, *row.shape) for row in given)]


LOOP = torch.ops.coterie.loop.default


class Looped:
    """A node of a graph that calls `LOOP`."""

    def __init__(self, node: Node) -> None:
        name, state, sequences, shared, reverse = node.args
        assert isinstance(name, str) and isinstance(reverse, bool)
        self.state, self.sequences, self.shared = (_nodes(group) for group in (state, sequences, shared))
        self.reverse, self._step = reverse, _STEPS[name]

    def examples(self) -> list[Tensor]:
        """Tensors of the sizes that `step` takes; all distinct, since tracing tells them apart by identity."""
        state, sequences, shared = (
            [node.meta["val"] for node in group] for group in (self.state, self.sequences, self.shared)
        )
        return [torch.empty_like(tensor) for tensor in (*state, *map(_row, sequences), *shared)]

    def step(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """One step as a function of single tensors."""
        rest = iter(tensors)
        groups = ([next(rest) for _ in group] for group in (self.state, self.sequences, self.shared))
        last, given = self._step(*groups)
        return (*last, *given)


def _nodes(group: Argument) -> list[Node]:
    assert isinstance(group, (list, tuple))
    return [node for node in group if isinstance(node, Node)]


def _row(sequence: Tensor) -> Tensor:
    """A tensor of the size of one step's row."""
    return sequence.new_empty(sequence.shape[1:])
