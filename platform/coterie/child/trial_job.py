"""Job `trial`: a child that only confines itself, to find out how far the system allows it."""

import msgspec

from coterie.child.job import ChildJob, Limits, ReportProgress, Unconfined
from coterie.child.run import run_child


class Empty(msgspec.Struct, frozen=True):
    """Arguments and result of a job that needs none."""


JOB = ChildJob(module=__name__, work=f"{__name__}:do_nothing", arguments=Empty, result=Empty)
LIMITS = Limits(wall_s=30, cpu_s=10, memory_bytes=1 << 30, confined=True)


def do_nothing(arguments: Empty, report: ReportProgress) -> Empty:  # noqa: ARG001 - as each job's work
    """Does nothing."""
    return Empty()


def try_confinement() -> tuple[str, ...]:
    """Confinements that this system cannot apply to jobs that run users' programs, as in "it runs without …".

    Raises what `run_child` does.
    """
    told: list[Unconfined] = []
    run_child(JOB, Empty(), limits=LIMITS, on_unconfined=told.append)
    return tuple(what for each in told for what in each.missing)
