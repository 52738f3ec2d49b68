"""A platform in embedded mode as real processes, which tests kill."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import msgspec
import psutil

from coterie.config.announce import Announcement, Line, Ready
from tests.system.eventually import eventually
from tests.system.model import SIDE
from tests.system.seed import Seeded

ROOT = Path(__file__).resolve().parents[2]
STOP_S = 20
A = TypeVar("A", bound=Announcement)


def environment(**settings: str) -> dict[str, str]:
    """That of this process, with nothing of its own settings but `settings`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COTERIE_")}
    path = os.pathsep.join(str(ROOT / source) for source in ("platform", "edge_agent", "recipes", ""))
    given = {f"COTERIE_{name.upper()}": value for name, value in settings.items()}
    return {**kept, "PYTHONPATH": path, "DJANGO_SETTINGS_MODULE": "coterie.config.settings", **given}


def prepare_state(
    directory: Path, *, pairs: int, side: int = SIDE, tables: Path | None = None, **settings: str
) -> Seeded:
    """Prepare what the settings name, in a process of its own; from a copy of `tables` or from nothing.

    The models are for images of `side` by `side` pixels.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if tables is not None:
        state = Path(settings["state"])
        state.mkdir(parents=True)
        shutil.copyfile(tables, state / "coterie.sqlite3")
    command = [sys.executable, "-m", "tests.system.seed", str(directory), str(pairs), str(side)]
    done = subprocess.run(command, env=environment(**settings), stdout=subprocess.PIPE, check=True, cwd=ROOT)
    return msgspec.json.decode(done.stdout, type=Seeded)


def kill_with_children(process: psutil.Process) -> None:
    """Kill a process and all that came of it, and wait until they have gone."""
    try:
        victims = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for victim in victims:
        try:
            victim.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(victims, timeout=STOP_S)


class Platform:
    """``coterie up`` on one state directory, started as often as it is killed."""

    def __init__(self, state: Path, *, python: str = sys.executable, host: str = "127.0.0.1", **settings: str) -> None:
        self.state, self._host = state, host
        self._python = python
        self._settings = settings
        self.url = ""
        self._log = state.with_name(f"{state.name}.log")
        self._told = state.with_name(f"{state.name}.told")
        self._told.touch()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Ready:
        """Start it, at the address it had before, and wait until it answers."""
        port = self.url.rpartition(":")[2] or "0"
        readies = len(self.told(Ready))
        where = ["--host", self._host, "--port", port]
        command = [self._python, "manage.py", "up", "--state", str(self.state), *where, "--json"]
        with self._log.open("ab") as log, self._told.open("ab") as told:
            self._process = subprocess.Popen(
                command, env=environment(**self._settings), stdout=told, stderr=log, cwd=ROOT
            )
        return self._ready(readies)

    def told(self, kind: type[A]) -> list[A]:
        """Every line of this kind so far."""
        lines = (msgspec.json.decode(line, type=Line) for line in self._told.read_bytes().splitlines())
        return [line for line in lines if isinstance(line, kind)]

    def log(self) -> str:
        """What it wrote to standard error."""
        return self._log.read_text(encoding="utf-8")

    def kill_server(self) -> None:
        """Kill the server; its supervisor starts another. Returns when that one answers."""
        readies = self.told(Ready)
        os.kill(readies[-1].server_pid, signal.SIGKILL)
        self._ready(len(readies))

    def kill_all(self) -> None:
        """Kill supervisor, server and their children at once, and start the platform again."""
        self.kill_for_good()
        self.start()

    def kill_for_good(self) -> None:
        """Kill supervisor, server and their children at once."""
        assert self._process is not None
        kill_with_children(psutil.Process(self._process.pid))
        self._process.wait(STOP_S)

    def children_of_server(self) -> list[psutil.Process]:
        """What the server has started: merges and other heavy work."""
        return psutil.Process(self.told(Ready)[-1].server_pid).children(recursive=True)

    def stop(self) -> None:
        """Stop it as an operator would; kill what is left."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            kill_with_children(psutil.Process(self._process.pid))
            self._process.wait(STOP_S)
            raise

    def _ready(self, before: int) -> Ready:
        def look() -> Ready | None:
            assert self._process is not None
            assert self._process.poll() is None, self.log()
            readies = self.told(Ready)
            return readies[-1] if len(readies) > before else None

        ready = eventually(look)
        self.url = ready.url
        return ready
