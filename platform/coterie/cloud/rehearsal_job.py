"""Job: have one process try what a large gang is to train, before the gang takes its places.

Jeon et al. 2019 (USENIX ATC, arXiv 1901.05758): most failures are the program's or its data's, and a large gang that
fails late has wasted most.
"""

import msgspec

from coterie.child.job import ChildJob
from coterie.cloud.bootstrap_job import JOB as BOOTSTRAP
from coterie.cloud.bootstrap_job import BootstrapArguments

LARGE = 4
"""Workers of a gang from which it is tried first: the try takes longer than a smaller one wastes."""


class RehearsalResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What it took."""

    memory_bytes: int
    """The most that the process had."""
    step_s: float
    """Seconds of a step with the whole batch."""


JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.rehearsal:rehearse",
    arguments=BootstrapArguments,
    result=RehearsalResult,
    errors=BOOTSTRAP.errors,
)
