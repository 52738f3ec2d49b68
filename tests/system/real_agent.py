"""A real agent: ``coterie-agent`` processes on a home of their own, driven by a conditions file."""

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import psutil
from numpy.typing import NDArray

from coterie_wire.conditions import Conditions
from tests.system.model import samples
from tests.system.processes import ROOT, environment

READY = Conditions(charging="yes", network="wifi", idle="yes")
UNPLUGGED = Conditions(charging="no", network="wifi", idle="yes")
SAMPLES = 200
COMMAND_S = 30
# Any: the tests read a few fields of what the commands print.
Json = dict[str, Any]


class RealAgent:
    """One device; its owner set short checkpoints and small chunks, and accepts what plans ask."""

    def __init__(
        self,
        home: Path,
        url: str,
        token: str,
        *,
        learns: tuple[NDArray[np.float32], NDArray[np.int64]] | None = None,
        chunk_bytes: int = 256 << 10,
        local_api: bool = False,
        python: str = sys.executable,
        consent: str = "accept",
        settings: str = "",
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """`variables` are its processes' environment; None: one in which the source is found."""
        self.home = home
        self._variables = variables or environment()
        self._python = python
        home.mkdir()
        (home / "agent.toml").write_text(
            f'conditions_file = "conditions.json"\nlocal_api = {str(local_api).lower()}\n'
            f'checkpoint_s = 0.1\nchunk_bytes = {chunk_bytes}\nconsent.more = "{consent}"\n{settings}',
            encoding="utf-8",
        )
        self.set_conditions(READY)
        x, y = learns or samples(SAMPLES, seed=7)
        self.id: str = self.command("join", url, token, "--yes", "--name", home.name)["device"]
        self.ingest(x, y)
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0

    def ingest(self, x: NDArray[np.float32], y: NDArray[np.int64]) -> None:
        """More samples."""
        np.savez(self.home / "samples.npz", x=x, y=y)
        self.command("ingest", str(self.home / "samples.npz"))

    def predicted(self, x: NDArray[np.float32]) -> list[int]:
        """The classes that ``coterie-agent predict`` names."""
        return [prediction["index"] for prediction in self.answer(x)["predictions"]]

    def answer(self, x: NDArray[np.float32]) -> Json:
        """``coterie-agent predict``."""
        np.savez(self.home / "asked.npz", x=x)
        return self.command("predict", str(self.home / "asked.npz"))

    def set_conditions(self, conditions: Conditions) -> None:
        """What its probes say from now on."""
        draft = self.home / "conditions.json.new"
        draft.write_bytes(msgspec.json.encode(conditions))
        draft.replace(self.home / "conditions.json")

    def start(self, command: str = "run") -> None:
        self._started_at = time.time()
        with (self.home / "agent.log").open("ab") as log:
            self._process = subprocess.Popen(self._arguments(command), stderr=log, env=self._variables, cwd=ROOT)

    def kill(self) -> None:
        """As a flat battery would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(COMMAND_S)

    def exit_status(self) -> int | None:
        """None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def process(self) -> psutil.Process:
        """That of ``coterie-agent run``."""
        assert self._process is not None
        return psutil.Process(self._process.pid)

    def log(self) -> str:
        return (self.home / "agent.log").read_text(encoding="utf-8")

    def status(self) -> Json:
        """``coterie-agent status``."""
        return self.command("status")

    def why(self) -> list[str]:
        """The codes that ``coterie-agent why`` names."""
        return [reason["code"] for reason in self.command("why")["waits"]]

    def progress(self) -> Json:
        """What the running agent does now; empty where it has no assignment."""
        status = self.status()["status"]
        known = status is not None and status["at"] >= self._started_at
        return (known and status["progress"]) or {}

    def command(self, *arguments: str, expected: int = 0) -> Json:
        """What a command prints."""
        done = subprocess.run(
            [*self._arguments(*arguments), "--json"],
            env=self._variables,
            cwd=ROOT,
            capture_output=True,
            timeout=COMMAND_S,
            check=False,
        )
        assert done.returncode == expected, done.stdout + done.stderr
        printed: Json = msgspec.json.decode(done.stdout)
        return printed

    def _arguments(self, *arguments: str) -> list[str]:
        return [self._python, "-m", "coterie_agent", "--home", str(self.home), *arguments]
