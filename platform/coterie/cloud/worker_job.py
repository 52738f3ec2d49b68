"""Job: be one worker of a training job's gang."""

from typing import Annotated

import msgspec
from msgspec import Meta

from coterie.child.job import ChildJob
from coterie.cloud.bootstrap_job import BootstrapArguments, BootstrapResult
from coterie.cloud.errors import OF_COMPUTING, CannotSplit, Diverged, NotLearning
from coterie.compile.errors import ERRORS
from coterie.evaluation.datasets import MalformedDataset


class WorkerArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One worker's own arguments, besides the job's."""

    training: BootstrapArguments
    number: Annotated[int, Meta(ge=0)]
    """Number of this worker, from 0."""
    meeting: str = ""
    """The file by which workers of one attempt find each other."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 0
    """Where the job's first process listens on the loopback interface."""
    secret: str = ""
    """Authenticates a worker to the first process."""

    @property
    def gpu(self) -> int | None:
        """Number of its host's GPU on which it computes; None: it computes on cores."""
        first = 0 if self.training.together is None else self.training.together.first
        return self.training.gpus[self.number - first] if self.training.gpus else None


class WorkerResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The result of one worker."""

    trained: BootstrapResult | None = None
    """The job's result, from the worker that has it."""


JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.worker:work",
    arguments=WorkerArguments,
    result=WorkerResult,
    errors=(MalformedDataset, Diverged, NotLearning, CannotSplit, *OF_COMPUTING, *ERRORS),
)
