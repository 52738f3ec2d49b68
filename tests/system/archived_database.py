"""A PostgreSQL server of a test's own that archives its log, and another one as the first was at a moment."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

FOUND = shutil.which("initdb") or next(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None)
USER = "postgres"
"""Who runs it where the tests run as root, which PostgreSQL refuses."""
SETTINGS = ("fsync=off", "listen_addresses=127.0.0.1", "archive_mode=on")


class ArchivedDatabase:
    """One server, whose copies and log are in `directory`."""

    def __init__(self, directory: Path, running: ExitStack, data: str = "first") -> None:
        self._directory, self._running, self._data = directory, running, data
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self._port = probe.getsockname()[1]
        self.url = f"postgresql://coterie@127.0.0.1:{self._port}/postgres"

    def begin(self) -> None:
        """Make and start it, and take the copy from which every later moment is reached."""
        (self._directory / "archive").mkdir()
        _own(self._directory / "archive")
        self._run("initdb", "-D", self._data, "-U", "coterie", "--auth=trust", "--no-sync")
        self._start()
        self._run("pg_basebackup", "-d", self.url, "-D", "copy", "--checkpoint=fast", "--no-sync")

    def now(self) -> str:
        """The moment, by its clock; what is written afterwards is later."""
        with psycopg.connect(self.url, autocommit=True) as session:
            (moment,) = session.execute("SELECT clock_timestamp()::text").fetchone() or ("",)
        return str(moment)

    def as_at(self, moment: str) -> "ArchivedDatabase":
        """Stop it, and start another one with what it had at `moment`."""
        with psycopg.connect(self.url, autocommit=True) as session:
            session.execute("SELECT pg_switch_wal()")
        self._stop()
        other = ArchivedDatabase(self._directory, self._running, "second")
        other._run("cp", "-a", "copy", other._data)
        other._run("touch", f"{other._data}/recovery.signal")
        other._start(
            f"restore_command=cp {self._directory}/archive/%f %p",
            f"recovery_target_time={moment}",
            "recovery_target_action=promote",
        )
        return other

    def _start(self, *settings: str) -> None:
        archive = f"archive_command=cp %p {self._directory}/archive/%f"
        given = (*SETTINGS, archive, f"port={self._port}", f"unix_socket_directories={self._directory}", *settings)
        options = " ".join(f"-c '{setting}'" for setting in given)
        self._run("pg_ctl", "-D", self._data, "-l", f"{self._data}.log", "-w", "-o", options, "start")
        self._running.callback(self._stop)

    def _stop(self) -> None:
        if (self._directory / self._data / "postmaster.pid").exists():
            self._run("pg_ctl", "-D", self._data, "-w", "-m", "fast", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        assert FOUND is not None
        ours = Path(FOUND).with_name(program)
        command = [str(ours) if ours.exists() else program, *arguments]
        subprocess.run(command, cwd=self._directory, user=_user(), stdout=subprocess.DEVNULL, check=True, timeout=60)


@contextmanager
def archived_database() -> Iterator[ArchivedDatabase]:
    """One that has begun."""
    with tempfile.TemporaryDirectory(prefix="coterie-pg-") as directory, ExitStack() as running:
        _own(Path(directory))
        database = ArchivedDatabase(Path(directory), running)
        database.begin()
        yield database


def _user() -> str | None:
    return USER if os.geteuid() == 0 else None


def _own(directory: Path) -> None:
    if (user := _user()) is not None:
        shutil.chown(directory, user)
