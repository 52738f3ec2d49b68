"""Strategy `local_sgd` in a worker: some local steps, then the mean of all models."""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.distributed.algorithms.model_averaging.utils import average_parameters

from coterie.child.job import ReportProgress
from coterie.cloud.collective import Rank, gang_of, replica, run_rank
from coterie.cloud.course import Course
from coterie.cloud.epoch_loop import Epoch
from coterie.cloud.epochs import Rows
from coterie.cloud.learner import share_of
from coterie.cloud.strategy.local_sgd import LocalSgd, Period
from coterie.cloud.worker_job import WorkerArguments, WorkerResult
from coterie_wire.structs import from_values

PERIOD, SINCE, FIRST_LOSS, INTERVAL, LOSSES = "period", "since", "first_loss", "interval_steps", "interval_losses"


class Averaging:
    """When models are averaged. Every worker makes the same decisions, from numbers that all have."""

    def __init__(self, strategy: LocalSgd, rank: Rank) -> None:
        self._strategy, self._rank = strategy, rank
        self._period = strategy.begin()
        self._since = 0
        """Steps since the last averaging; none at the end of an epoch."""
        self._interval_steps = 0
        self._losses = torch.zeros((), dtype=torch.float32)
        """The sum of this worker's losses in this interval."""
        self.averagings = 0
        """Since an epoch began."""

    def step(self, loss: float) -> None:
        """Count a step; average if it is time."""
        self._since += 1
        self._interval_steps += 1
        self._losses += loss
        if self._since >= self._period.steps:
            self.average()
            if self._interval_steps >= self._strategy.interval_steps:
                self._choose()

    def average(self) -> None:
        """Replace all workers' models by their mean."""
        self._since = 0
        self.averagings += 1
        with self._rank.meter.running():
            average_parameters(iter(self._rank.learner.cloud.parameters.values()), self._rank.group)

    def _choose(self) -> None:
        loss = self._rank.mean(self._losses / self._interval_steps)
        self._period = self._strategy.renew(self._period, float(loss))
        self._interval_steps, self._losses = 0, torch.zeros((), dtype=torch.float32)

    def save(self) -> Mapping[str, Tensor]:
        """Its state between two steps."""
        first = self._period.first_loss
        return {
            PERIOD: torch.tensor(self._period.steps),
            SINCE: torch.tensor(self._since),
            INTERVAL: torch.tensor(self._interval_steps),
            LOSSES: self._losses,
        } | ({} if first is None else {FIRST_LOSS: torch.tensor(first, dtype=torch.float32)})

    def restore(self, saved: Mapping[str, Tensor]) -> None:
        """The inverse of `save`."""
        first = saved.get(FIRST_LOSS)
        self._period = Period(int(saved[PERIOD]), None if first is None else float(first))
        self._since = int(saved[SINCE])
        self._interval_steps, self._losses = int(saved[INTERVAL]), saved[LOSSES]


def train_rank(arguments: WorkerArguments, report: ReportProgress) -> WorkerResult:
    """Train on a share of every batch. Raises MalformedDataset, Diverged, or what `Learner` raises."""
    strategy = from_values(arguments.training.strategy, LocalSgd)  # the kind that this function is the member of
    with gang_of(arguments, strategy.count):
        rank = Rank(arguments, strategy.count)
        learner, averaging = rank.learner, Averaging(strategy, rank)

        size = sum(4 * parameter.numel() for parameter in learner.cloud.parameters.values())

        def train(epoch: int, course: Course) -> Epoch:
            averaging.averagings = 0
            for _, rows in course.steps(epoch):
                course.losses.append(_step(rank, share_of(rows, rank.number, rank.count)))
                averaging.step(course.losses[-1])
            averaging.average()
            rank.average_statistics()
            mean = rank.mean(torch.tensor(course.losses, dtype=torch.float64).mean())
            return Epoch(float(mean), rank.meter.read(), size * averaging.averagings)

        return run_rank(rank, train, report, replica(rank, save=averaging.save, restore=averaging.restore))


def _step(rank: Rank, share: Rows) -> float:
    """A worker without a share of the last batch takes no step; its loss has weight 0."""
    if len(share) == 0:
        return 0.0
    rank.learner.optimiser.zero_grad()
    loss = rank.learner.backward(share)
    rank.learner.optimiser.step()
    return loss
