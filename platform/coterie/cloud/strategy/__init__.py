"""How the training of a cloud model is spread over processes. One module a kind; what it does is run in children."""

from typing import ClassVar

import msgspec

from coterie_learning.kinds import Kind

MOST_NAMED = 12


class Splits(msgspec.Struct, frozen=True):
    """Where a cloud model can be split into parts that run one after the other."""

    modules: tuple[str, ...] = ()
    """Modules before which it can be split, in order; each part has its own parameters. Blank: a place where no
    module begins.
    """
    obstacle: str = ""
    """The reason why it cannot be split at more places; blank: none."""

    def describe(self) -> str:
        """The places or the obstacle, for people."""
        named = [name for name in self.modules if name]
        others = f" and {len(named) - MOST_NAMED} others" if len(named) > MOST_NAMED else ""
        found = f"it can be split before {', '.join(named[:MOST_NAMED])}{others}" if named else "it cannot be split"
        return f"{found}; {self.obstacle}" if self.obstacle else found


class Strategy(Kind, frozen=True):
    """What each process of a training job computes, and what they tell each other.

    A kind is data that the server reads; its work, which needs PyTorch, is named and loaded in a child process.
    """

    since = "0.2"
    work: ClassVar[str]
    """``package.module:function`` of (BootstrapArguments, ReportProgress) -> BootstrapResult, in the job's child."""
    member: ClassVar[str] = ""
    """``package.module:function`` of (WorkerArguments, ReportProgress) -> WorkerResult, run in each worker."""

    spreads: ClassVar[bool] = False
    """Whether its workers can be on several hosts."""

    @property
    def compiles(self) -> bool:
        """Whether its passes can be compiled."""
        return True

    @property
    def count(self) -> int:
        """How many workers train."""
        return 1

    def misfit_of(self, splits: Splits) -> str | None:  # noqa: ARG002
        """Why it cannot train a cloud model that can be split at `splits`; None: it can."""
        return None
