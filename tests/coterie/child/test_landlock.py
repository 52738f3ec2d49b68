"""What drivers of GPUs need is open to a confined process where there are GPUs, and shut where there are none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.child import landlock

pytestmark = pytest.mark.skipif(landlock.version() == 0, reason="this kernel has no Landlock")

CONFINED = """
import ctypes, os, sys
from pathlib import Path
from coterie.child.files import Files
from coterie.child.landlock import restrict_files

devices, *paths = sys.argv[1:]
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
assert restrict_files(Files((), (), ()), own=devices, devices=Path(devices))
for path in paths:
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        print("shut")
    else:
        print("open")
"""
OWN_NAME, KERNEL = "/proc/thread-self/comm", "/proc/sys/kernel/hostname"


def opened(devices: Path, *paths: str) -> list[bool]:
    """Whether a process that has confined itself opens `paths` to write."""
    found = subprocess.run(
        [sys.executable, "-c", CONFINED, str(devices), *paths],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    return [line == "open" for line in found.stdout.splitlines()]


def test_a_process_names_its_threads_where_there_are_gpus_alone(tmp_path: Path) -> None:
    assert opened(tmp_path, OWN_NAME) == [False]
    (tmp_path / "nvidia0").touch()
    others = f"/proc/{os.getpid()}/mem"
    assert opened(tmp_path, OWN_NAME, KERNEL, others) == [True, False, False]
