"""The demo's platform: ``coterie up`` in a process of its own."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from coterie.config.announce import FirstOperator, Line, Ready
from coterie_wire.structs import from_json

STOP_S = 15.0


class ServerFailed(Exception):
    """The platform did not come up; the message is what it said."""


class DemoServer:
    """A platform in embedded mode on a state directory of its own."""

    def __init__(self, *, port: int, log: Path, environment: Mapping[str, str]) -> None:
        self._log = log
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "coterie", "up", "--port", str(port), "--json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=file,
                env=environment,
                start_new_session=True,  # Ctrl-C reaches the demo, which stops the platform last
            )
        self.operator: FirstOperator | None = None
        self.url = ""

    def wait_until_ready(self) -> None:
        """Raises ServerFailed."""
        assert self._process.stdout is not None
        for raw in self._process.stdout:
            line = from_json(raw, Line)
            if isinstance(line, FirstOperator):
                self.operator = line
            elif isinstance(line, Ready):
                self.url = line.url
                return
        self._process.wait()
        raise ServerFailed(self._log.read_text(encoding="utf-8").strip())

    def stop(self) -> None:
        """Stop it and wait until it has ended."""
        self._process.terminate()
        try:
            self._process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
