"""Clocks that are stepped and disks that are full, for single processes and without root: a library in C says so."""

import mmap
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
COMPILER = "cc"
SECOND = 1_000_000_000
AHEAD, FULL = 0, 1
"""Places in the file: nanoseconds that the clock is ahead, and 1 while the disk is full."""
SIZE = 16


def can_be_disturbed() -> bool:
    """Whether this machine has what compiles the library."""
    return shutil.which(COMPILER) is not None


def compiled(directory: Path) -> Path:
    """The library, in `directory`. Raises FileNotFoundError without a C compiler."""
    library = directory / "surroundings.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, SOURCE, "-ldl"], check=True)
    return library


class Surroundings:
    """What processes that are started with `variables` take for the time, and whether they can write files.

    What they start with an environment of its own, as the platform does its confined jobs, is not disturbed.
    """

    def __init__(self, library: Path, file: Path) -> None:
        """`file` is made, and belongs to these."""
        file.write_bytes(bytes(SIZE))
        self.variables: Mapping[str, str] = {"LD_PRELOAD": str(library), "SURROUNDINGS": str(file)}
        with file.open("r+b") as opened:
            self._told = memoryview(mmap.mmap(opened.fileno(), SIZE)).cast("q")

    def step_clock(self, seconds: float) -> None:
        """Set it so far ahead of the true time, or behind; 0 sets it right."""
        self._told[AHEAD] = round(seconds * SECOND)

    def fill_disk(self, *, full: bool) -> None:
        """No file takes another byte until it is no more full."""
        self._told[FULL] = full
