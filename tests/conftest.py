"""What all tests share: who runs them in which order, migrated tables, and what the garbage collector looks at."""

import fcntl
import gc
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests.examples import register_profiles
from tests.system.processes import ROOT, environment

register_profiles()
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell gives that to what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
gc.disable()  # until all is imported: nothing of that is garbage

LANES = 3


def is_system_test(nodeid: str) -> bool:
    return nodeid.startswith("tests/system/")


class Lanes(LoadFileScheduling):
    """System tests go one after the other, in so many lanes; every other file goes to whichever process is free.

    So somebody computes while the system tests wait, and those of a lane share a platform.
    """

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        self._lanes: dict[str, str] = {}

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if not is_system_test(nodeid):
            return file
        return self._lanes.setdefault(file, f"lane {len(self._lanes) % LANES}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Lanes | None:
    return Lanes(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """System tests first: whichever lane began last would be waited for alone."""
    items.sort(key=lambda item: not is_system_test(item.nodeid))


def pytest_collection_finish() -> None:
    """Modules and collected tests stay to the end: no collection has to walk a million objects to learn that.

    Nor does one pay after 700 new objects, of which a compilation makes millions.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A file of SQLite with all tables, to be copied: the first process of a run migrates, which takes seconds."""
    own = tmp_path_factory.getbasetemp()
    state = (own if worker_id == "master" else own.parent) / "migrated"
    state.mkdir(exist_ok=True)
    done = state / "done"
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            subprocess.run(command, env=environment(state=str(state)), cwd=ROOT, check=True)
            with closing(sqlite3.connect(state / "coterie.sqlite3")) as tables:
                tables.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # a copy is of the file alone
            done.touch()
    return state / "coterie.sqlite3"
