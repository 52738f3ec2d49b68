"""How a child process fails, apart from the job's own errors."""

from coterie.core.errors import CoterieError, ErrorKind


class OutOfMemory(CoterieError):
    """Fields: job, limit_mb."""

    code = "child.out_of_memory"
    kind = ErrorKind.TOO_LARGE
    sentence = "{job} needed more than its {limit_mb} MB of memory; use a smaller model, batch or data set."


class OutOfTime(CoterieError):
    """Fields: job, limit_s (seconds, of the wall clock or of the processor)."""

    code = "child.out_of_time"
    kind = ErrorKind.TOO_LARGE
    sentence = "{job} was not done after {limit_s} seconds; use a smaller model, batch or data set, or fewer epochs."


class DiskFull(CoterieError):
    """Fields: job."""

    code = "child.disk_full"
    kind = ErrorKind.UNAVAILABLE
    sentence = "{job} found the disk full; make room and try again."


class FilesAway(CoterieError):
    """What it was given to read is not there any more. Fields: job, path, problem (what the system says)."""

    code = "child.files_away"
    kind = ErrorKind.UNAVAILABLE
    sentence = "{job} failed, for {path} cannot be read ({problem}); it is tried again once that is there."


class Cancelled(CoterieError):
    """Fields: job."""

    code = "child.cancelled"
    kind = ErrorKind.CONFLICT
    sentence = "{job} was cancelled."


class Crashed(CoterieError):
    """It ended without a result. Fields: job, status (exit status; negative: signal), output (its last words)."""

    code = "child.crashed"
    kind = ErrorKind.UNAVAILABLE
    sentence = "{job} ended with status {status}: {output}"
