"""Peak memory of this process, and how it frees large blocks."""

import ctypes
import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
M_MMAP_THRESHOLD = -3
"""Its name in glibc's <malloc.h>."""
LARGE_BYTES = 1 << 18


def peak_memory_bytes() -> int:
    """Of this program only: memory of the process that started it is not counted, unlike by `getrusage`."""
    if sys.platform == "linux":
        (peak,) = (line for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def give_large_back() -> None:
    """From now on, return freed blocks of a quarter of a MiB or more to the system (glibc; otherwise does nothing).

    By default glibc does so until the first large block is freed, then keeps all up to its size, for speed: 32 MiB
    each.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
