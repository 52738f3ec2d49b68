"""The work of job `rehearsal`: programs and data are read, steps taken, a checkpoint is written and read again."""

import math
import time
from itertools import islice
from pathlib import Path

from coterie.child.job import Progress, ReportProgress
from coterie.child.memory import peak_memory_bytes
from coterie.cloud.blocks import find_cuts
from coterie.cloud.bootstrap_job import BootstrapArguments
from coterie.cloud.checkpoints import read_file, replace_file
from coterie.cloud.errors import CannotSplit, CheckpointLost, Diverged
from coterie.cloud.learner import Learner
from coterie.cloud.rehearsal_job import RehearsalResult
from coterie.cloud.strategies import parse_strategy
from coterie.cloud.training_state import restore_training, save_training

STEPS = 2
"""The second step of an optimiser with state is the first that depends on that."""
NAME = "rehearsal"


def rehearse(arguments: BootstrapArguments, report: ReportProgress) -> RehearsalResult:
    """Try a training in one process.

    Raises MalformedDataset, CannotSplit, Diverged, CheckpointLost, or what `Learner` raises.
    """
    report(Progress("one process tries it first"))
    learner = Learner(arguments)
    problem = parse_strategy(arguments.strategy).misfit_of(find_cuts(learner.cloud).splits())
    if problem is not None:
        raise CannotSplit(problem=problem)
    seconds = 0.0
    for rows in islice(learner.batches(0), STEPS):
        begun = time.perf_counter()
        learner.optimiser.zero_grad()
        if not math.isfinite(learner.backward(rows)):
            raise Diverged(epoch=1)
        learner.optimiser.step()
        seconds = time.perf_counter() - begun
    learner.judge()
    if arguments.checkpoints is not None:
        _try_checkpoint(learner, Path(arguments.checkpoints, NAME))
    return RehearsalResult(peak_memory_bytes(), seconds)


def _try_checkpoint(learner: Learner, path: Path) -> None:
    written = save_training(learner.cloud, learner.optimiser)
    try:
        replace_file(path, written)
        found = read_file(path)
    finally:
        path.unlink(missing_ok=True)
    if found is None:
        raise CheckpointLost
    other = Learner(learner.arguments)
    restore_training(other.cloud, other.optimiser, found)
    if save_training(other.cloud, other.optimiser) != written:
        raise CheckpointLost
