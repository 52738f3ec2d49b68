"""A server's part of the model without its network: what workers push changes pieces, and tells who is answered when.

A worker that died pushes its last step once more: what a piece has had of it counts once. So that it can compute the
same, a piece in synchronous training is remembered as it was before its last change.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from torch import Tensor

from coterie.cloud.parameter_server.held import Held, Pushed
from coterie_wire.errors import WireError


class _PieceState:
    """A piece, and how far each worker is with it. Steps are counted from the beginning of training."""

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
    """When a piece changes, and when a worker may go on."""

    def take(self, standing: _PieceState, worker: int, pushed: Pushed | None) -> None:
        """Let what a worker pushed change the piece, or wait."""
        ...

    def is_due(self, standing: _PieceState, worker: int) -> bool:
        """Whether a worker that waits for the piece gets it."""
        ...


class Synchronous(NamedTuple):
    """A piece changes by all workers' gradients of a step at once."""

    def take(self, standing: _PieceState, worker: int, pushed: Pushed | None) -> None:
        """Wait for the others; then sum in the order of workers, so that it does not matter who was first."""
        standing.pushed[worker] = pushed
        if len(standing.pushed) < len(standing.counts):
            return
        if standing.former is None:
            standing.former = standing.held.numbers.clone()
        standing.former.copy_(standing.held.numbers)
        given = [one for _, one in sorted(standing.pushed.items()) if one is not None]
        standing.held.change(given, share=1.0)
        standing.pushed.clear()
        standing.applied += 1

    def is_due(self, standing: _PieceState, worker: int) -> bool:
        """After the change."""
        return standing.counts[worker] <= standing.applied


class OneByOne(NamedTuple):
    """A piece changes by each worker's gradients as they come."""

    bound: int | None
    """How many steps a worker may be ahead of the slowest; None: any number."""

    def take(self, standing: _PieceState, worker: int, pushed: Pushed | None) -> None:  # noqa: ARG002 - as all rules
        """At once."""
        if pushed is not None:
            standing.held.change([pushed], share=1 / len(standing.counts))

    def is_due(self, standing: _PieceState, worker: int) -> bool:
        """Unless it is too far ahead."""
        return self.bound is None or standing.counts[worker] - min(standing.counts) <= self.bound


class Shard:
    """The pieces of one server by their numbers; there is one at least."""

    def __init__(self, held: Mapping[int, Held], *, workers: int, rule: Rule, first: int) -> None:
        """`first`: the number of the first step that is pushed."""
        self._standings = {number: _PieceState(piece, workers, first) for number, piece in held.items()}
        self._rule = rule

    def step_of(self, worker: int) -> int:
        """The first step that a worker has not pushed for all pieces."""
        return min(standing.counts[worker] for standing in self._standings.values())

    def numbers(self, piece: int) -> Tensor:
        """A piece as it is."""
        return self._standing(piece).held.numbers

    def numbers_at(self, piece: int, step: int) -> Tensor:
        """A piece as a worker needs it who pushes `step` next, perhaps again."""
        standing = self._standing(piece)
        if standing.applied > step and standing.former is not None:
            return standing.former
        return standing.held.numbers

    def push(self, worker: int, piece: int, step: int, pushed: Pushed | None) -> Sequence[int]:
        """Take what a worker computed at `step` (None: it had no samples); gives the workers who get the piece now.

        Raises WireError ``wire.malformed`` for a step that is not the worker's next, nor its last.
        """
        standing = self._standing(piece)
        count = standing.counts[worker]
        if step not in (count, count - 1):
            raise WireError("wire.malformed", f"step {step} of a worker that has pushed {count}")
        standing.waiting.add(worker)
        if step == count:
            standing.counts[worker] += 1
            self._rule.take(standing, worker, pushed)
        due = sorted(one for one in standing.waiting if self._rule.is_due(standing, one))
        standing.waiting.difference_update(due)
        return due

    def _standing(self, piece: int) -> _PieceState:
        try:
            return self._standings[piece]
        except KeyError:
            raise WireError("wire.malformed", f"piece {piece} is not here") from None
