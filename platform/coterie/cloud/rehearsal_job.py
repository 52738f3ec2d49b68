"""Job: have one process try a large gang's training, before the gang takes its places.

Jeon et al. 2019 (USENIX ATC, arXiv 1901.05758): most failures are caused by the program or its data, and a large gang
that fails late wastes most.
"""

import msgspec

from coterie.child.job import ChildJob
from coterie.cloud.bootstrap_job import JOB as BOOTSTRAP
from coterie.cloud.bootstrap_job import BootstrapArguments

LARGE = 4
"""Workers of a gang from which it is tried first: the trial takes longer than a smaller gang would waste."""


class RehearsalResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cost of the trial."""

    memory_bytes: int
    """Peak memory of the process."""
    step_s: float
    """Seconds of a step with the whole batch."""


JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.rehearsal:rehearse",
    arguments=BootstrapArguments,
    result=RehearsalResult,
    errors=BOOTSTRAP.errors,
)
