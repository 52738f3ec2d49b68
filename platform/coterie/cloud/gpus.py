"""The work of job `gpus`: each GPU that PyTorch finds multiplies two matrices; where none does, the obstacles are
reported.
"""

import ctypes
import errno
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from coterie.child.job import ReportProgress
from coterie.cloud.errors import GpusUnusable
from coterie.cloud.gpus_job import GpusArguments, GpusResult

SIZE = 64
DRIVER = "libcuda.so.1"


def count_gpus(arguments: GpusArguments, report: ReportProgress) -> GpusResult:  # noqa: ARG001 - as all jobs
    """The number of usable GPUs. Raises GpusUnusable where there is none, or one of them fails."""
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
        found = torch.cuda.device_count()
        for number in range(found):
            ones = torch.ones(SIZE, SIZE, device=torch.device("cuda", number))
            assert float((ones @ ones).sum()) == SIZE**3, f"GPU {number} computes something else"
    except (RuntimeError, AssertionError) as error:
        words = next(iter(str(error).strip().splitlines()), type(error).__name__)
        built = f"PyTorch {torch.__version__}"
        raise GpusUnusable(detail="; ".join([words, built, *obstacles()])[:1500]) from error
    return GpusResult(found)


def obstacles(devices: Path = Path("/dev")) -> Iterator[str]:
    """The operations of a GPU driver's start that this process may not do, each with the name of the error."""
    for path in sorted(devices.glob("nvidia*")):
        if path.is_char_device():
            yield from _tried(f"open {path}", lambda path=path: os.close(os.open(path, os.O_RDWR)))  # type: ignore[misc]
    yield from _tried("name a thread", lambda: os.close(os.open("/proc/thread-self/comm", os.O_WRONLY)))
    yield from _tried("make a file in memory", lambda: os.close(os.memfd_create("gpu")))
    yield from _tried("open a socket of this host", lambda: socket.socket(socket.AF_UNIX).close())
    yield from _tried("read the driver's version", lambda: Path("/proc/driver/nvidia/version").read_bytes())
    yield from _tried(f"load {DRIVER}", lambda: ctypes.CDLL(DRIVER))


def _tried(what: str, act: Callable[[], object]) -> Iterator[str]:
    try:
        act()
    except OSError as error:
        why = errno.errorcode.get(error.errno or 0, str(error))
        yield f"it cannot {what} ({why})"
