"""What disturbs a process's clock and disk does it, and to nothing else: the faults of chaos are faults."""

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.system.surroundings import Surroundings, can_be_disturbed, compiled

pytestmark = pytest.mark.skipif(not can_be_disturbed(), reason="no C compiler")
CODE = """
import datetime, os, sqlite3, sys, time
tables = sqlite3.connect("tables")
tables.execute("CREATE TABLE IF NOT EXISTS one (a)")
for line in sys.stdin:
    try:
        with open("written", "wb", buffering=0) as file:
            file.write(b"word")
        room = 0
    except OSError as error:
        room = error.errno
    try:
        with tables:
            tables.execute("INSERT INTO one VALUES (1)")
        stored = "stored"
    except sqlite3.OperationalError as error:
        stored = str(error)
    (of_sqlite,) = tables.execute("SELECT unixepoch()").fetchone()
    print(time.time(), datetime.datetime.now().timestamp(), of_sqlite, time.monotonic(), room, stored, flush=True)
"""


def test_a_process_has_the_clock_and_the_disk_that_it_is_given(tmp_path: Path) -> None:
    made = Surroundings(compiled(tmp_path), tmp_path / "surroundings")
    process = subprocess.Popen(
        [sys.executable, "-c", CODE],
        env={**os.environ, **made.variables},
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None

    def look() -> tuple[float, float, int, str]:
        """By how much its clock is ahead at most and at least, what opening a file and SQLite said."""
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        *clocks, monotonic, room, stored = process.stdout.readline().strip().split(" ", 5)
        assert abs(float(monotonic) - time.monotonic()) < 10
        ahead = [float(clock) - time.time() for clock in clocks]
        return max(ahead), min(ahead), int(room), stored

    with process:
        most, least, room, stored = look()
        assert -10 < least <= most < 10 and (room, stored) == (0, "stored")
        made.step_clock(-3600)
        most, least, room, stored = look()
        assert -3610 < least <= most < -3590 and (room, stored) == (0, "stored")
        made.step_clock(0)
        made.fill_disk(full=True)
        most, least, room, stored = look()
        assert -10 < least <= most < 10 and (room, stored) == (errno.ENOSPC, "database or disk is full")
        made.fill_disk(full=False)
        assert look()[2:] == (0, "stored")
        process.stdin.close()
