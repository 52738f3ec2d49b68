"""The most memory that this process has held."""

import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_memory_bytes() -> int:
    """Of this program alone: what a process that started it held before is not counted, as `getrusage` would."""
    if sys.platform == "linux":
        (peak,) = (line for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
