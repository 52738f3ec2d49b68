"""A training from its first step to its last: optimisation, and early stopping on samples held out.

Sans I/O: `next_task` names what is needed next; the caller supplies it, and may pause between any two tasks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np

from coterie_learning.client.optimisation import Batch, Optimisation
from coterie_learning.client.order import SampleSplit, steps_per_epoch
from coterie_learning.local import Stopping
from coterie_learning.stopping import Watched, is_over, judge_epoch
from coterie_wire.bundle import ModelSpec
from coterie_wire.tensors import Float32, Tensors, decode_tensors, encode_tensors


class Learn(NamedTuple):
    """Task: a step on the samples numbered `ids`."""

    ids: Sequence[int]


class Judge(NamedTuple):
    """Task: the mean loss of `parameters` over the samples numbered `ids`."""

    parameters: Tensors
    ids: Sequence[int]


Task: TypeAlias = Learn | Judge


class Progress(msgspec.Struct, frozen=True):
    """The state of a training, without its tensors."""

    steps_done: int
    classes: tuple[int, ...] = ()
    """The classes of the device's output layer, where the plan customises it."""
    watched: Watched = Watched()
    """The state of early stopping."""
    loss_before: float | None = None
    """The loss before the first step, once it is known."""


class Checkpoint(NamedTuple):
    """The state of a training; resuming from it gives the same bits as never having stopped."""

    progress: Progress
    tensors: bytes
    """Parameters, statistics and optimiser state, as safetensors."""
    best: bytes | None
    """Parameters of the best epoch, where training may stop early."""


@dataclass
class Training:
    """One training between two steps."""

    model: ModelSpec
    optimisation: Optimisation
    parts: SampleSplit
    steps_total: int
    """The number of steps if nothing ends training early."""
    stopping: Stopping | None
    """When it ends early, and which epoch it keeps; None: it runs to the last epoch and keeps that."""
    judges_start: bool = False
    """Whether the start is evaluated too, and kept where no epoch is better."""
    classes: tuple[int, ...] = ()
    judged_first: Tensors | None = None
    """The version whose loss over the training samples is computed before the first step, if any."""
    loss_before: float | None = field(default=None, init=False)
    """That loss, once it is known."""
    _watched: Watched = field(default_factory=Watched)
    _best: bytes | None = None
    _ends_early: bool = False

    @property
    def steps_done(self) -> int:
        return self.optimisation.steps_done

    def next_task(self) -> Task | None:
        """What is needed next; None when training has ended."""
        if self._is_first():
            assert self.judged_first is not None
            return Judge(self.judged_first, self.parts.train)
        if self._ends_early or (self.stopping is not None and is_over(self._watched, self.stopping)):
            return None
        judged = self._watched.epochs - self.judges_start
        is_judged = self.stopping is not None and judged < math.ceil(self.steps_total / self._epoch)
        if is_judged and self.steps_done >= min((judged + 1) * self._epoch, self.steps_total):
            return Judge(self.optimisation.parameters(), self.parts.held_out)
        if self.steps_done >= self.steps_total:
            return None
        return Learn(self.optimisation.batch_ids())

    def learn(self, batch: Batch, teacher: Float32 | None = None) -> None:
        """Run the requested step; `teacher` [samples of the batch, *output] where there is one.

        Raises Diverged, WireError ``plan.does_not_fit``, and what the graph raises.
        """
        self.optimisation.step(batch, teacher)

    def record_loss(self, task: Judge, loss: float) -> None:
        """Take the requested loss."""
        if self._is_first():
            self.loss_before = loss
            return
        assert self.stopping is not None, "epochs are judged where training may stop early"
        found = judge_epoch(self._watched, loss, self.stopping)
        self._watched = found.watched
        if found.is_best:
            self._best = encode_tensors(dict(task.parameters))

    def end_early(self) -> None:
        """End the training after the steps done so far, because no time is left."""
        self._ends_early = True

    def trained(self) -> Tensors:
        """The tensors to keep: those of the best epoch, where early stopping evaluates epochs."""
        if self._best is None:
            return self.optimisation.parameters()
        found = decode_tensors(self._best, expected=self.model.version)
        return {name: np.asarray(tensor, np.float32) for name, tensor in found.items()}

    def checkpoint(self) -> Checkpoint:
        """The current state."""
        progress = Progress(self.steps_done, self.classes, self._watched, self.loss_before)
        return Checkpoint(progress, self.optimisation.save(), self._best)

    def resume(self, checkpoint: Checkpoint) -> None:
        """Resume from `progress`. Raises WireError ``tensors.*``."""
        self.optimisation.restore(checkpoint.tensors, steps_done=checkpoint.progress.steps_done)
        self._watched, self._best = checkpoint.progress.watched, checkpoint.best
        self.loss_before = checkpoint.progress.loss_before

    def _is_first(self) -> bool:
        """Whether the loss before the first step is still to be found."""
        return self.judged_first is not None and self.loss_before is None

    @property
    def _epoch(self) -> int:
        return steps_per_epoch(len(self.parts.train), self.model.batch_size)
