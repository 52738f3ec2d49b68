"""What is in the way of a GPU is told with the name of the error, by a process that meets it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.child import landlock, seccomp
from coterie.cloud.errors import GpusUnusable
from coterie.cloud.gpus import count_gpus, obstacles
from coterie.cloud.gpus_job import GpusArguments

CONFINED = """
import ctypes, sys
from pathlib import Path
from coterie.child.files import Files
from coterie.child.landlock import restrict_files
from coterie.child.seccomp import restrict_sockets
from coterie.cloud.gpus import obstacles

libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
assert restrict_files(Files((), (), ()), own=sys.argv[1], devices=Path(sys.argv[1]))
assert restrict_sockets(libc, allowed=())
print(list(obstacles()))
"""


@pytest.mark.skipif(landlock.version() == 0 or not seccomp.is_supported(), reason="this kernel cannot confine it")
def test_what_a_process_may_not_do_is_named(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", CONFINED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "it cannot name a thread (EACCES)" in found.stdout
    assert "it cannot open a socket of this host (EACCES)" in found.stdout
    assert "a file in memory" not in found.stdout


@pytest.mark.skipif(Path("/proc/driver/nvidia/version").exists(), reason="a driver of GPUs is here")
def test_a_machine_without_a_driver_says_so() -> None:
    assert "it cannot read the driver's version (ENOENT)" in list(obstacles())
    with pytest.raises(GpusUnusable, match="it cannot read the driver's version"):
        count_gpus(GpusArguments(), lambda _progress: None)
