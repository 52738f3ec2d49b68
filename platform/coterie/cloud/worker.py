"""The work of job `worker`: runs the strategy's member."""

from collections.abc import Callable

from coterie.child.job import ReportProgress, load_work
from coterie.cloud.computing import translated_errors
from coterie.cloud.strategies import parse_strategy
from coterie.cloud.worker_job import WorkerArguments, WorkerResult


def work(arguments: WorkerArguments, report: ReportProgress) -> WorkerResult:
    """Run one worker. Raises what the strategy's member does."""
    member: Callable[[WorkerArguments, ReportProgress], WorkerResult] = load_work(
        parse_strategy(arguments.training.strategy).member
    )
    with translated_errors():
        return member(arguments, report)
