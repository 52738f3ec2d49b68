"""The sequence of a training's steps, and the points between two of them at which a checkpoint is written."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from coterie.cloud.epochs import Moment, Rows
from coterie.cloud.pace import PaceCheck

LOSSES = "losses"
Batches = Callable[[int], Sequence[Rows]]
"""The batches of an epoch, from 0, each as the rows of its samples."""


class Course:
    """The sequence of steps of one process; in a gang, all are at the same step when they save."""

    def __init__(
        self,
        batches: Batches,
        *,
        check: Callable[[int], PaceCheck] | None = None,
        save: Callable[[], None] = lambda: None,
    ) -> None:
        """`check`: the clock's answer after so many steps; None: checkpoints are written between epochs only.
        `save`: writes one.
        """
        self._batches, self._check, self._save = batches, check, save
        self.moment = Moment()
        """How far it is."""
        self.losses: list[float] = []
        """Of the steps of this epoch that are done."""
        self.samples = 0
        """How many of this epoch's this process has seen."""
        self._since, self._until = 0, 1
        """Steps since the last check or the beginning of the epoch, and after how many the next check is."""

    def steps(self, epoch: int) -> Iterator[tuple[int, Rows]]:
        """The batches of `epoch` that are not done, each with its number; the next one is requested once a step is
        done.
        """
        batches = self._batches(epoch)
        for span in self.spans(epoch, len(batches)):
            for step in span:
                self.samples += len(batches[step])
                yield step, batches[step]

    def spans(self, epoch: int, steps: int) -> Iterator[range]:
        """The numbers of those of an epoch's `steps` that are not done, in spans up to the next check of the clock."""
        done = self.moment.steps
        self.samples, self._since = 0, 0
        if done == 0:
            self.losses = []
        while done < steps:
            stop = min(steps, done + self._until - self._since) if self._check is not None else steps
            yield range(done, stop)
            self._since += stop - done
            done = stop
            self.moment = Moment(epoch, done) if done < steps else Moment(epoch + 1)
            if self._check is not None and self._since >= self._until:
                self._check_pace(self._check)

    def _check_pace(self, check: Callable[[int], PaceCheck]) -> None:
        found = check(self._since)
        self._since, self._until = 0, found.steps
        if found.due and self.moment.steps:
            self._save()

    def remembered(self) -> Mapping[str, Tensor]:
        """The state that a checkpoint keeps of it: the losses of done steps; bits of float64."""
        if self.moment.steps == 0:
            return {}
        return {LOSSES: torch.tensor(self.losses, dtype=torch.float64).view(torch.int64)}

    def restore(self, moment: Moment, remembered: Mapping[str, Tensor]) -> None:
        """Resume at a moment, with the state that `remembered` returned then."""
        self.moment = moment
        if LOSSES in remembered:
            self.losses = remembered[LOSSES].view(torch.float64).tolist()
