"""Job: be the workers that one host runs of a gang which another host leads."""

import msgspec

from coterie.child.job import ChildJob
from coterie.cloud.bootstrap_job import JOB as BOOTSTRAP
from coterie.cloud.bootstrap_job import BootstrapArguments


class ShareResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing: the gang's first worker has the result."""


JOB = ChildJob(
    module=__name__,
    work="coterie.cloud.gang:run_share",
    arguments=BootstrapArguments,
    result=ShareResult,
    errors=BOOTSTRAP.errors,
)
