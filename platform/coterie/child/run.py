"""The parent's side: start a child, read its lines, and make sure that no process of it is left."""

import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from coterie.child.errors import Cancelled, Crashed, DiskFull, FilesAway, OutOfMemory, OutOfTime
from coterie.child.files import files_of, read_by
from coterie.child.job import (
    MAX_LINE_BYTES,
    A,
    ChildJob,
    Failure,
    Limits,
    Line,
    MemoryExceeded,
    NoRoom,
    Progress,
    R,
    ReportProgress,
    ReportUnconfined,
    Result,
    Start,
    Timed,
    Unconfined,
)
from coterie.core.disk import is_full
from coterie.core.errors import CoterieError, Field
from coterie.core.kind_failures import KindFailed
from coterie.core.scratch import scratch_directory
from coterie.core.tracing import add_span, is_traced, span
from coterie_wire.structs import from_json

logger = logging.getLogger(__name__)

CANCEL_LATENCY_S = 0.2
EXIT_S = 10.0
"""How long a child that has closed its lines may take to exit, so that its status can be read."""
OUTPUT_CHARACTERS = 2000
OF_GPUS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "LD_LIBRARY_PATH")
"""Variables that select a process's GPUs, and locate their drivers: containers set the last one."""


def run_child(
    job: ChildJob[A, R],
    arguments: A,
    *,
    limits: Limits | None = None,
    on_progress: ReportProgress | None = None,
    on_unconfined: ReportUnconfined | None = None,
    cancel: threading.Event | None = None,
) -> R:
    """Do `job` in a separate process and return its result; the calling thread waits.

    Progress is reported in the calling thread. An exception raised by `on_progress` ends the child; so does setting
    `cancel`, within 0.2 s. Where the system does not let the child confine itself as its limits require, it is reported
    to `on_unconfined`, and logged. Paths in `arguments` must be absolute: the child works in its own temporary
    directory. Raises the job's declared errors, KindFailed, DiskFull, FilesAway, OutOfMemory, OutOfTime, Cancelled or
    Crashed.
    """
    given = [path for path in read_by(arguments) if Path(path).exists()]
    try:
        with span(f"child {job.name}"):
            return _run(job, arguments, limits or Limits(), _Listeners(job.name, on_progress, on_unconfined), cancel)
    except OSError as error:
        if not is_full(error):
            raise
        raise DiskFull(job=job.name) from error
    except Cancelled:
        raise
    except CoterieError as error:
        for path in given:
            try:
                Path(path).stat()
            except OSError as lost:  # as where a share was unmounted: neither the job nor its input is to blame
                raise FilesAway(job=job.name, path=path, problem=lost.strerror or str(lost)) from error
        raise


@dataclass(frozen=True)
class _Listeners:
    """The receivers of a child's lines."""

    job: str
    on_progress: ReportProgress | None
    on_unconfined: ReportUnconfined | None

    def dispatch(self, line: Progress | Unconfined) -> None:
        if isinstance(line, Unconfined):
            logger.warning("%s runs without %s: the system does not allow it", self.job, " and ".join(line.missing))
            if self.on_unconfined is not None:
                self.on_unconfined(line)
        elif self.on_progress is not None:
            self.on_progress(line)


def _run(job: ChildJob[A, R], arguments: A, limits: Limits, listeners: _Listeners, cancel: threading.Event | None) -> R:
    with (
        scratch_directory("child") as directory,
        (directory / "output").open("w+b") as output,
    ):
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "coterie.child", job.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            cwd=directory,
            env=_environment(str(directory), limits),
            start_new_session=True,
        )
        assert process.stdout is not None
        lines: queue.Queue[bytes] = queue.Queue()
        reader = threading.Thread(target=_read, args=(process.stdout, lines), name=f"child-{process.pid}", daemon=True)
        reader.start()
        try:
            _send_start(process, arguments, limits)
            last = _follow(job, lines, limits, listeners, cancel)
            if last is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=EXIT_S)
        finally:
            _end(process, reader)
        return _conclude(job, limits, last, process.returncode, output)


def _send_start(process: subprocess.Popen[bytes], arguments: msgspec.Struct, limits: Limits) -> None:
    assert process.stdin is not None
    start = Start(
        parent_pid=os.getpid(),
        memory_bytes=limits.memory_bytes,
        cpu_s=limits.cpu_s,
        file_bytes=limits.file_bytes,
        files=files_of(arguments) if limits.confined else None,
        loopback=limits.loopback,
        network=limits.network,
        traced=is_traced(),
        arguments=msgspec.Raw(msgspec.json.encode(arguments)),
    )
    with suppress(BrokenPipeError):  # It died at once; its status has the reason.
        process.stdin.write(msgspec.json.encode(start) + b"\n")
        process.stdin.flush()


def _follow(
    job: ChildJob[A, R],
    lines: queue.Queue[bytes],
    limits: Limits,
    listeners: _Listeners,
    cancel: threading.Event | None,
) -> Line | None:
    """The child's last line; None where it ended without one."""
    deadline = time.monotonic() + limits.wall_s
    while True:
        if cancel is not None and cancel.is_set():
            raise Cancelled(job=job.name)
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0:
            raise OutOfTime(job=job.name, limit_s=limits.wall_s)
        try:
            raw = lines.get(timeout=min(remaining_s, CANCEL_LATENCY_S))
        except queue.Empty:
            continue
        if not raw:
            return None
        try:
            line: Line = from_json(raw, Line)
        except msgspec.DecodeError as error:
            raise Crashed(job=job.name, status=0, output=f"unreadable line of {len(raw)} bytes: {error}") from error
        if isinstance(line, Timed):
            add_span(f"child {job.name}: {line.name}", began_ns=line.began_ns, ended_ns=line.ended_ns)
            continue
        if not isinstance(line, Progress | Unconfined):
            return line
        listeners.dispatch(line)


def _read(stdout: IO[bytes], lines: queue.Queue[bytes]) -> None:
    while line := stdout.readline(MAX_LINE_BYTES):
        lines.put(line)
    lines.put(b"")


def _end(process: subprocess.Popen[bytes], reader: threading.Thread) -> None:
    """Kill the child's whole process group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    reader.join()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        with suppress(BrokenPipeError):
            pipe.close()


def _conclude(job: ChildJob[A, R], limits: Limits, last: Line | None, status: int, output: IO[bytes]) -> R:
    if isinstance(last, Result):
        try:
            return from_json(last.value, job.result)
        except msgspec.DecodeError as error:
            raise Crashed(job=job.name, status=status, output=f"unreadable result: {error}") from error
    if isinstance(last, MemoryExceeded):
        raise OutOfMemory(job=job.name, limit_mb=limits.memory_bytes >> 20)
    if isinstance(last, NoRoom):
        raise DiskFull(job=job.name)
    if isinstance(last, Failure):
        raise _declared(job, last.code, last.fields, output)
    if status == -signal.SIGXCPU:
        raise OutOfTime(job=job.name, limit_s=limits.cpu_s)
    raise Crashed(job=job.name, status=status, output=_tail(output))


def _declared(job: ChildJob[A, R], code: str, fields: Mapping[str, Field], output: IO[bytes]) -> Exception:
    errors: tuple[type[CoterieError], ...] = (*job.errors, KindFailed)
    for error in errors:
        if error.code == code:
            return error(**fields)
    return Crashed(job=job.name, status=0, output=f"{code} is none of its errors. {_tail(output)}")


def _tail(output: IO[bytes]) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - OUTPUT_CHARACTERS))
    return output.read().decode("utf-8", "replace").strip()


def _environment(directory: str, limits: Limits) -> Mapping[str, str]:
    """Nothing of the parent's environment, which may contain secrets, except the selection of GPUs."""
    return {
        "PYTHONPATH": os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry),
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "HOME": directory,
        "TMPDIR": directory,
        "OMP_NUM_THREADS": str(limits.threads),
        "TORCHINDUCTOR_COMPILE_THREADS": str(limits.threads),
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",  # without it, a GPU's products differ from run to run
        **{name: os.environ[name] for name in OF_GPUS if name in os.environ},  # noqa: TID251 - of drivers, not ours
        "MALLOC_ARENA_MAX": "2",
    }
