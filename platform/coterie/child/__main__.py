"""The child's side: ``python -m coterie.child MODULE``, arguments JSON lines in and out."""

import gc
import importlib
import os
import sys
import time
from collections.abc import Callable
from typing import BinaryIO

import msgspec

from coterie.child.confine import confine, die_with_parent
from coterie.child.job import (
    ChildJob,
    Failure,
    Line,
    MemoryExceeded,
    NoRoom,
    Progress,
    ReportProgress,
    Result,
    Start,
    Timed,
    Unconfined,
    load_work,
)
from coterie.core.disk import is_full
from coterie.core.errors import CoterieError
from coterie.core.kind_failures import KindFailed, kind_failures
from coterie_wire.structs import from_json

GC_THRESHOLDS = (50_000, 20, 50)
"""A compilation creates millions of objects, few of them garbage: by default a sixth of its time goes into
collections.
"""


def main(module: str) -> None:
    """Do the job that `module` declares as ``JOB``; an undeclared error ends in a traceback."""
    source = sys.stdin.buffer
    # Libraries may print: standard output becomes standard error, and the protocol gets its own descriptor.
    with os.fdopen(os.dup(1), "wb") as lines:
        os.dup2(2, 1)
        start = from_json(source.readline(), Start)
        missing = confine(start)
        if missing:
            _write(lines, Unconfined(missing))
        die_with_parent(source.fileno())
        job: ChildJob[msgspec.Struct, msgspec.Struct] = importlib.import_module(module).JOB
        _write(lines, _outcome(job, start, lines))


def _outcome(job: ChildJob[msgspec.Struct, msgspec.Struct], start: Start, lines: BinaryIO) -> Line:
    def report(progress: Progress) -> None:
        _write(lines, progress)

    began_ns = time.time_ns()

    def end(name: str) -> None:
        nonlocal began_ns
        if start.traced:
            _write(lines, Timed(name, began_ns, time.time_ns()))
            began_ns = time.time_ns()

    try:
        arguments = from_json(start.arguments, job.arguments)
        work = _loaded(job.work)
        end("load")
        try:
            with kind_failures():
                return Result(msgspec.Raw(msgspec.json.encode(work(arguments, report))))
        finally:
            end("work")
    except CoterieError as error:
        if not isinstance(error, (*job.errors, KindFailed)):
            raise
        return Failure(error.code, error.fields)
    except _refusing_memory() as error:
        if not _is_refused_memory(error):
            raise
        return MemoryExceeded()
    except OSError as error:
        if not is_full(error):
            raise
        return NoRoom()


def _loaded(work: str) -> Callable[[msgspec.Struct, ReportProgress], msgspec.Struct]:
    """The function `work`, imported without garbage collections, of which there are few from then on."""
    gc.disable()
    found: Callable[[msgspec.Struct, ReportProgress], msgspec.Struct] = load_work(work)
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()
    return found


def _refusing_memory() -> tuple[type[Exception], ...]:
    """What may be raised where an allocation is refused; onnxruntime's errors, where a job has loaded it."""
    loaded = sys.modules.get("onnxruntime.capi.onnxruntime_pybind11_state")
    of_onnxruntime = () if loaded is None else (loaded.Fail, loaded.RuntimeException)
    return (MemoryError, RuntimeError, *of_onnxruntime)


def _is_refused_memory(error: BaseException) -> bool:
    """PyTorch reports a refused allocation as a RuntimeError with these words, and onnxruntime as errors of its own."""
    words = ("can't allocate memory", "bad_alloc", "Failed to allocate memory", "bad allocation")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


def _write(lines: BinaryIO, line: Line) -> None:
    lines.write(msgspec.json.encode(line) + b"\n")
    lines.flush()


if __name__ == "__main__":
    main(sys.argv[1])
