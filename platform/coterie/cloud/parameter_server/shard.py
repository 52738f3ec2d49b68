"""A server's part of the model without its network: how pushes change pieces, and which workers get an answer when.

A worker that died pushes its last step again: a piece counts that once. So that the worker can compute the same again,
a piece in synchronous training is kept as it was before its last change.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from torch import Tensor

from coterie.cloud.parameter_server.held import Held, Pushed
from coterie_wire.errors import WireError


class _PieceState:
    """A piece, and each worker's progress with it. Steps are counted from the beginning of training."""

    def __init__(self, held: Held, workers: int, first: int) -> None:
        self.held = held
        self.counts = [first] * workers
        """How many steps each worker has pushed."""
        self.applied = first
        """Steps of all workers that have changed it."""
        self.pushed: dict[int, Pushed | None] = {}
        """By workers, of the step that is not complete."""
        self.former: Tensor | None = None
        self.waiting: set[int] = set()


class Rule(Protocol):
    """When a piece changes, and when a worker may continue."""

    def take(self, state: _PieceState, worker: int, pushed: Pushed | None) -> None:
        """Apply a worker's push to the piece, or store it until it is due."""
        ...

    def is_due(self, state: _PieceState, worker: int) -> bool:
        """Whether a worker that waits for the piece gets it."""
        ...


class Synchronous(NamedTuple):
    """A piece changes by all workers' gradients of a step at once."""

    def take(self, state: _PieceState, worker: int, pushed: Pushed | None) -> None:
        """Store it until all have pushed; then sum in the order of workers, so that the result does not depend on
        who was first.
        """
        state.pushed[worker] = pushed
        if len(state.pushed) < len(state.counts):
            return
        if state.former is None:
            state.former = state.held.numbers.clone()
        state.former.copy_(state.held.numbers)
        given = [one for _, one in sorted(state.pushed.items()) if one is not None]
        state.held.change(given, share=1.0)
        state.pushed.clear()
        state.applied += 1

    def is_due(self, state: _PieceState, worker: int) -> bool:
        """After the change."""
        return state.counts[worker] <= state.applied


class OneByOne(NamedTuple):
    """A piece changes by each worker's gradients as they arrive."""

    bound: int | None
    """How many steps a worker may be ahead of the slowest; None: any number."""

    def take(self, state: _PieceState, worker: int, pushed: Pushed | None) -> None:  # noqa: ARG002 - as all rules
        """Apply it at once."""
        if pushed is not None:
            state.held.change([pushed], share=1 / len(state.counts))

    def is_due(self, state: _PieceState, worker: int) -> bool:
        """Unless it is too far ahead."""
        return self.bound is None or state.counts[worker] - min(state.counts) <= self.bound


class Shard:
    """The pieces of one server by their numbers; at least one."""

    def __init__(self, held: Mapping[int, Held], *, workers: int, rule: Rule, first: int) -> None:
        """`first`: the number of the first step that is pushed."""
        self._states = {number: _PieceState(piece, workers, first) for number, piece in held.items()}
        self._rule = rule

    def step_of(self, worker: int) -> int:
        """The first step that a worker has not pushed for all pieces."""
        return min(state.counts[worker] for state in self._states.values())

    def numbers(self, piece: int) -> Tensor:
        """A piece's current numbers."""
        return self._state(piece).held.numbers

    def numbers_at(self, piece: int, step: int) -> Tensor:
        """A piece as needed by a worker that pushes `step` next, possibly again."""
        state = self._state(piece)
        if state.applied > step and state.former is not None:
            return state.former
        return state.held.numbers

    def push(self, worker: int, piece: int, step: int, pushed: Pushed | None) -> Sequence[int]:
        """Take a worker's push of `step` (None: it had no samples); returns the workers that get the piece now.

        Raises WireError ``wire.malformed`` for a step that is neither the worker's next nor its last.
        """
        state = self._state(piece)
        count = state.counts[worker]
        if step not in (count, count - 1):
            raise WireError("wire.malformed", f"step {step} of a worker that has pushed {count}")
        state.waiting.add(worker)
        if step == count:
            state.counts[worker] += 1
            self._rule.take(state, worker, pushed)
        due = sorted(one for one in state.waiting if self._rule.is_due(state, one))
        state.waiting.difference_update(due)
        return due

    def _state(self, piece: int) -> _PieceState:
        try:
            return self._states[piece]
        except KeyError:
            raise WireError("wire.malformed", f"piece {piece} is not here") from None
