"""Job: find how many GPUs this host has that children, confined as they are, can compute on."""

import msgspec

from coterie.child.job import ChildJob, Limits
from coterie.cloud.errors import GpusUnusable


class GpusArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The job takes no arguments."""


class GpusResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was found."""

    gpus: int
    """At least one; their numbers begin with 0."""


LIMITS = Limits(wall_s=120.0, memory_bytes=8 << 30, confined=True, loopback=True)
"""The same as for a training."""
JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.gpus:count_gpus",
    arguments=GpusArguments,
    result=GpusResult,
    errors=(GpusUnusable,),
)
