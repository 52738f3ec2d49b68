"""The steps of a training one after the other, and the moments between two of them at which it is saved."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from coterie.cloud.epochs import Moment, Rows
from coterie.cloud.pace import Look

LOSSES = "losses"
Batches = Callable[[int], Sequence[Rows]]
"""The batches of an epoch, from 0, each the rows of its samples."""


class Course:
    """Of one process; those of a gang are at the same step when they save."""

    def __init__(
        self,
        batches: Batches,
        *,
        look: Callable[[int], Look] | None = None,
        save: Callable[[], None] = lambda: None,
    ) -> None:
        """`look`: what the clock says after so many steps; None: it is saved between epochs alone. `save`: save it."""
        self._batches, self._look, self._save = batches, look, save
        self.moment = Moment()
        """How far it is."""
        self.losses: list[float] = []
        """Of the steps of this epoch that are done."""
        self.samples = 0
        """How many of this epoch's this process has seen."""
        self._since, self._until = 0, 1
        """Steps since the last look or the epoch's beginning, and after how many is the next look."""

    def steps(self, epoch: int) -> Iterator[tuple[int, Rows]]:
        """The batches of `epoch` that are not done, each with its number; ask for the next when a step is done."""
        batches = self._batches(epoch)
        for span in self.spans(epoch, len(batches)):
            for step in span:
                self.samples += len(batches[step])
                yield step, batches[step]

    def spans(self, epoch: int, steps: int) -> Iterator[range]:
        """The numbers of those steps of `epoch`, which has so many, up to the next look each time."""
        done = self.moment.steps
        self.samples, self._since = 0, 0
        if done == 0:
            self.losses = []
        while done < steps:
            stop = min(steps, done + self._until - self._since) if self._look is not None else steps
            yield range(done, stop)
            self._since += stop - done
            done = stop
            self.moment = Moment(epoch, done) if done < steps else Moment(epoch + 1)
            if self._look is not None and self._since >= self._until:
                self._look_around(self._look)

    def _look_around(self, look: Callable[[int], Look]) -> None:
        found = look(self._since)
        self._since, self._until = 0, found.steps
        if found.due and self.moment.steps:
            self._save()

    def remembered(self) -> Mapping[str, Tensor]:
        """What of it a checkpoint keeps beside the state: the losses of steps that are done; bits of float64."""
        if self.moment.steps == 0:
            return {}
        return {LOSSES: torch.tensor(self.losses, dtype=torch.float64).view(torch.int64)}

    def restore(self, moment: Moment, remembered: Mapping[str, Tensor]) -> None:
        """Go on at a moment, with what was remembered then."""
        self.moment = moment
        if LOSSES in remembered:
            self.losses = remembered[LOSSES].view(torch.float64).tolist()
