"""What a benchmark starts ends with it, however it ends: platforms, agents, object storages, and what these start."""

import ctypes
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import NoReturn

import psutil

WAIT_S = 60
"""That a benchmark which is asked to end may take to end what it has started itself."""
ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
"""Of Linux, prctl(2)."""


def run(command: Sequence[str]) -> int:
    """Run it, and kill what is left of its processes afterwards; its exit status, as shells tell that of the killed.

    Whoever asks this process to end, by SIGTERM, SIGINT or SIGHUP, asks the command, and ends both. On Linux nothing
    escapes by a session of its own or by the death of a parent in between, and where this process is killed the command
    is asked to end.
    """
    if sys.platform == "linux":
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
    process = subprocess.Popen(command, preexec_fn=_end_with_parent if sys.platform == "linux" else None)

    asked = 0

    def pass_on(number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked = number
        process.terminate()
        signal.alarm(WAIT_S)

    signal.signal(signal.SIGALRM, lambda _number, _frame: process.kill())
    for number in ASKING:
        signal.signal(number, pass_on)
    try:
        status = process.wait()
    finally:
        left = psutil.Process().children(recursive=True)
        for each in left:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        psutil.wait_procs(left, timeout=WAIT_S)
    if asked:
        sys.exit(128 + asked)
    return status if status >= 0 else 128 - status


def raise_when_asked() -> None:
    """Have this process, when it is asked to end, leave what it is in the middle of, which ends what that started."""
    for number in ASKING:
        signal.signal(number, _leave)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    for each in ASKING:  # a terminal and the process above may both ask
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def _end_with_parent() -> None:
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _prctl(option: int, value: int) -> None:
    call: Callable[[int, int], int] = ctypes.CDLL(None, use_errno=True).prctl
    if call(option, value) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
