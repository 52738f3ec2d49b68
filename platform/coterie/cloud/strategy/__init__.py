"""How the training of a cloud model is spread over processes. One module a kind; what it does is run in children."""

from typing import ClassVar

from coterie_learning.kinds import Kind


class Strategy(Kind, frozen=True):
    """What each process of a training job computes, and what they tell each other.

    A kind is data that the server reads; its work, which needs PyTorch, is named and loaded in a child process.
    """

    since = "0.2"
    work: ClassVar[str]
    """``package.module:function`` of (BootstrapArguments, ReportProgress) -> BootstrapResult, in the job's child."""
    member: ClassVar[str] = ""
    """``package.module:function`` of (WorkerArguments, ReportProgress) -> WorkerResult, run in each worker."""

    @property
    def count(self) -> int:
        """How many workers train."""
        return 1
