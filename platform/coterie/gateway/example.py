"""The digits example in a separate process: whether it runs, its last line, and why it ended."""

import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from django.conf import settings

from coterie.core.errors import CoterieError, ErrorKind

MODULE = "coterie.demo.example"
LAST_CHARACTERS = 2000


class ExampleUnavailable(CoterieError):
    """Fields: why."""

    code = "example.unavailable"
    kind = ErrorKind.CONFLICT
    sentence = "The digits example cannot run here: {why}."


class ExampleRuns(CoterieError):
    """The example federation was started already."""

    code = "example.runs"
    kind = ErrorKind.CONFLICT
    sentence = "The digits example runs already."


def why_unavailable() -> str:
    """Why the example cannot be started on this platform; blank: it can."""
    if not settings.EMBEDDED:
        return "its devices would be processes of the platform's machine, and this platform has several machines"
    if find_spec("sklearn") is None:
        return "its digits come with scikit-learn; pip install 'coterie[demo]'"
    return ""


State = Literal["none", "running", "ended", "failed"]


@dataclass
class Example:
    """At most one process. Embedded mode has one server process, so this is the only state."""

    launch: Callable[..., "subprocess.Popen[str]"] = subprocess.Popen
    says: str = ""
    """Its last line; after a failure, the error."""
    _process: "subprocess.Popen[str] | None" = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def state(self) -> State:
        """Whether it runs, and how it ended."""
        if self._process is None:
            return "none"
        status = self._process.poll()
        return "running" if status is None else "ended" if status == 0 else "failed"

    def start(self, *, url: str, token: str, home: Path) -> None:
        """Start it; it ends with this process, which holds its standard input. Does nothing if it runs."""
        with self._lock:
            if self.state == "running":
                return
            self.says = ""
            self._process = self.launch(
                [sys.executable, "-m", MODULE, url, str(home)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert self._process.stdin is not None
            with suppress(BrokenPipeError):  # one that has ended already reports why
                self._process.stdin.write(f"{token}\n")
                self._process.stdin.flush()
            threading.Thread(target=self._listen, args=(self._process,), name="example", daemon=True).start()

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        with process:  # its pipes are closed when it has ended
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                self.says = line.strip()
            problem = process.stderr.read()[-LAST_CHARACTERS:].strip()
        if process.returncode != 0:
            self.says = problem.splitlines()[-1] if problem else f"it ended with status {process.returncode}"


EXAMPLE = Example()
