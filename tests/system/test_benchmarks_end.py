"""A benchmark that is killed leaves no process, whoever is killed."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.system.eventually import eventually
from tests.system.processes import ROOT

BENCHMARK = """
import subprocess, sys, time
from pathlib import Path
from tests.benchmarks.ending import raise_when_asked
raise_when_asked()
started = [subprocess.Popen(["sleep", "300"], start_new_session=True) for _ in range(2)]
Path(sys.argv[1]).write_text(" ".join(str(each.pid) for each in started))
try:
    time.sleep(300)
finally:
    Path(sys.argv[1]).with_name("tidied").touch()
    for each in started[: int(sys.argv[2])]:
        each.kill()
"""
ABOVE = "import sys; from tests.benchmarks.ending import run; sys.exit(run([sys.executable, '-c', *sys.argv[1:]]))"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems hand no orphans on")
@pytest.mark.parametrize(
    ("killed", "number", "ends_itself", "tidies"),
    [
        ("above", signal.SIGTERM, 1, True),
        ("above", signal.SIGINT, 1, True),
        ("above", signal.SIGKILL, 2, True),
        ("benchmark", signal.SIGKILL, 0, False),
    ],
    ids=["asked to end", "interrupted", "killed", "the benchmark killed"],
)
def test_nothing_is_left(killed: str, number: signal.Signals, ends_itself: int, tidies: bool, tmp_path: Path) -> None:
    told = tmp_path / "told"
    command = [sys.executable, "-c", ABOVE, BENCHMARK, str(told), str(ends_itself)]
    with subprocess.Popen(command, cwd=ROOT) as above:
        pids = eventually(lambda: told.read_text().split() if told.exists() else None)
        (benchmark,) = (each for each in psutil.Process(above.pid).children())
        left = [psutil.Process(int(pid)) for pid in pids]
        (psutil.Process(above.pid) if killed == "above" else benchmark).send_signal(number)
        above.wait(30)
    eventually(lambda: not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in left))
    assert (tmp_path / "tidied").exists() == tidies
