"""What a killed process leaves behind goes, what a living one uses stays, and what is nobody's mark is let alone."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from coterie.core.scratch import hold, is_abandoned, scratch_directory, sweep_once

USING = """
import signal, tempfile
tempfile.tempdir = {root!r}
from coterie.core.scratch import scratch_directory
with scratch_directory("child") as directory:
    (directory / "a").write_text("b")
    print(directory, flush=True)
    signal.pause()
"""


def using(root: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that uses a directory, and that directory."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    program = USING.format(root=str(root))
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env={"PYTHONPATH": path}, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_has_left_goes_with_the_next(tmp_path: Path) -> None:
    (tmp_path / "coterie-child-older").mkdir()
    killed, left = using(tmp_path)
    living, used = using(tmp_path)
    with killed, living:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert left.exists()
        assert not is_abandoned(used)
        following, own = using(tmp_path)
        with following:
            following.kill()
        assert not left.exists()
        assert used.exists()
        assert own != used
        assert (tmp_path / "coterie-child-older").exists(), "nobody has marked it"
        living.kill()


def test_it_goes_when_it_is_used_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch_directory("merge") as directory:
        assert not is_abandoned(directory)
        sweep_once.cache_clear()
        sweep_once(tmp_path)
        assert directory.exists()
    assert not directory.exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    os.close(hold(real))
    assert is_abandoned(real)
    (tmp_path / "coterie-link").symlink_to(real)
    assert not is_abandoned(tmp_path / "coterie-link")
