"""The consequence of a failure, by its kind.

Jeon et al. 2019 (USENIX ATC, arXiv 1901.05758): most failures are caused by the program or its data, and are repeated
however often a job is tried; those of machines and networks are rare, cost most, and are temporary.
"""

from typing import Literal, NamedTuple

Kind = Literal["program", "network", "process", "host"]
KINDS: dict[str, Kind] = {
    "training.workers_died": "network",
    "child.crashed": "process",
    "training.launch_failed": "process",
    "training.checkpoint_lost": "host",
    "training.no_gpu": "host",
}
"""By error code; a code that is missing here is the program's failure: its size, its data, its learning rate."""
MOST = 3
"""Failures in a row, without a checkpoint in between, after which a job ends."""
FIRST_WAIT_S = 8.0
"""Longer than it takes to detect a lost host; the wait doubles."""


class Retry(NamedTuple):
    """When and where a failed gang is placed again."""

    wait_s: float
    avoid_hosts: bool
    """Prefer other hosts."""


def retry_after(code: str, *, failures: int, hosts: int) -> Retry | None:
    """Whether a gang that failed on so many hosts, for the `failures`-th time in a row, is placed again; None: no.

    Workers of one host have no network between them, and were started again there before the job failed.
    """
    kind = KINDS.get(code, "program")
    if kind == "program" or failures >= MOST or (kind == "network" and hosts == 1):
        return None
    return Retry(FIRST_WAIT_S * 2 ** (failures - 1), avoid_hosts=kind == "host")
