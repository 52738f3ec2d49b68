"""The work of job `preflight`, which takes seconds to load, for files that may be loaded."""

from pathlib import Path

from coterie.child.job import ReportProgress
from coterie.cloud.preflight_job import PreflightArguments, PreflightResult
from coterie.compile.scrubbed_archive import scrubbed_archive


def preflight_admitted(arguments: PreflightArguments, report: ReportProgress) -> PreflightResult:
    """What `preflight_stored` gives and raises; PyTorch is not even loaded for a file that it must not read."""
    for path in (arguments.device, arguments.loss, arguments.cloud):
        if path is not None:
            scrubbed_archive(Path(path))
    from coterie.cloud.preflight import preflight_stored

    return preflight_stored(arguments, report)
