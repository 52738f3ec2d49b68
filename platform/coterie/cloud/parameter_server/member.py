"""The role of a child of the job by its number: the workers come first, then the servers."""

from coterie.child.job import ReportProgress
from coterie.cloud.parameter_server.server import keep_shard
from coterie.cloud.parameter_server.worker import compute_gradients
from coterie.cloud.strategy.parameter_server import ParameterServer
from coterie.cloud.worker_job import WorkerArguments, WorkerResult
from coterie_wire.structs import from_values


def serve(arguments: WorkerArguments, report: ReportProgress) -> WorkerResult:  # noqa: ARG001 - as all members
    """Serve until the job ends. Raises MalformedDataset, ConnectionError, or what `Learner` raises."""
    strategy = from_values(arguments.training.strategy, ParameterServer)  # the kind that this function is the member of
    run = compute_gradients if arguments.number < strategy.workers else keep_shard
    return run(arguments, strategy)
