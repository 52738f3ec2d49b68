"""The work of job `preflight`, which takes seconds to import, run only for files that pass the admission check."""

from pathlib import Path

from coterie.child.job import ReportProgress
from coterie.cloud.preflight_job import PreflightArguments, PreflightResult
from coterie.compile.scrubbed_archive import scrubbed_archive


def preflight_admitted(arguments: PreflightArguments, report: ReportProgress) -> PreflightResult:
    """The result of `preflight_stored`; PyTorch is not imported for a file that must not be read. Raises what that
    raises.
    """
    for path in (arguments.device, arguments.loss, arguments.cloud):
        if path is not None:
            scrubbed_archive(Path(path))
    from coterie.cloud.preflight import preflight_stored

    return preflight_stored(arguments, report)
