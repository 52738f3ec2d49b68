"""The work of job `worker`: what the strategy has one worker do."""

from collections.abc import Callable

from coterie.child.job import ReportProgress, load_work
from coterie.cloud.computing import told_failures
from coterie.cloud.strategies import parse_strategy
from coterie.cloud.worker_job import WorkerArguments, WorkerResult


def work(arguments: WorkerArguments, report: ReportProgress) -> WorkerResult:
    """Raises what the strategy's member does."""
    member: Callable[[WorkerArguments, ReportProgress], WorkerResult] = load_work(
        parse_strategy(arguments.training.strategy).member
    )
    with told_failures():
        return member(arguments, report)
