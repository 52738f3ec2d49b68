"""The work of job `preflight`, which takes seconds to load, for files that may be loaded."""

from pathlib import Path

from coterie.learning.child.job import ReportProgress
from coterie.learning.compile.scrubbed_archive import scrubbed_archive
from coterie.learning.jobs.preflight import PreflightArguments, PreflightResult


def preflight_admitted(arguments: PreflightArguments, report: ReportProgress) -> PreflightResult:
    """What `preflight_stored` gives and raises; PyTorch is not even loaded for a file that it must not read."""
    for path in (arguments.device, arguments.loss, arguments.cloud):
        if path is not None:
            scrubbed_archive(Path(path))
    from coterie.learning.compile.preflight import preflight_stored

    return preflight_stored(arguments, report)
