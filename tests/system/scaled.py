"""What scaled mode stands on, for tests: a database and a broker of their own, and processes of one platform."""

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.system.processes import ROOT, STOP_S, environment, kill_with_children

POSTGRESQL = "postgresql://postgres:postgres@127.0.0.1:5432"
REDIS = "redis://127.0.0.1:6379"
SHELL_S = 30.0
CELERY = ("celery", "-A", "coterie.config.celery")


def missing() -> list[str]:
    """What does not answer."""

    def answers(port: int) -> bool:
        with closing(socket.socket()) as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", port)) == 0

    return [name for name, port in (("PostgreSQL on :5432", 5432), ("Redis on :6379", 6379)) if not answers(port)]


SCALED = [
    pytest.mark.scaled,
    # Where CI is set the services must be there, and the tests fail without them.
    pytest.mark.skipif("CI" not in os.environ and bool(missing()), reason=f"no answer: {', '.join(missing())}"),
]


@contextmanager
def new_database() -> Iterator[str]:
    """The address of an empty database."""
    name = f"test_coterie_{secrets.token_hex(4)}"
    with psycopg.connect(f"{POSTGRESQL}/postgres", autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{POSTGRESQL}/{name}"
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


class Processes:
    """Processes of a platform: what is started ends, and is gone, with its stack."""

    def __init__(
        self, settings: dict[str, str], directory: Path, running: ExitStack, variables: Mapping[str, str] | None = None
    ) -> None:
        """`variables` are in their environment beside the settings."""
        self.directory, self._running = directory, running
        # What is killed leaves files behind.
        self._environment = {**environment(**settings), "TMPDIR": str(directory), **(variables or {})}

    def start(self, *arguments: str, pass_fds: tuple[int, ...] = ()) -> psutil.Process:
        """``start(module, *arguments)``."""
        command = [sys.executable, "-m", *arguments]
        with self.log(arguments[0]).open("ab") as log:
            process = subprocess.Popen(
                command, env=self._environment, cwd=ROOT, stdout=log, stderr=log, pass_fds=pass_fds
            )
        self._running.callback(process.wait, STOP_S)
        self._running.callback(kill_with_children, psutil.Process(process.pid))
        return psutil.Process(process.pid)

    def log(self, module: str) -> Path:
        """What processes of a module have written."""
        return self.directory / f"{module}.log"

    def shell(self, code: str) -> None:
        """Have a process of its own perform Python."""
        command = [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", code]
        subprocess.run(command, env=self._environment, cwd=ROOT, check=True, timeout=SHELL_S)
