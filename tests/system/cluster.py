"""Processes of one platform in scaled mode, as on machines of their own, each started as often as it is killed."""

import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil

from tests.system.processes import kill_with_children
from tests.system.scaled import CELERY, Processes


class Node:
    """A process that runs from the beginning, and again after each `start`."""

    def __init__(self, machine: Processes, arguments: tuple[str, ...], *, pass_fds: tuple[int, ...] = ()) -> None:
        self.directory = machine.directory
        self._machine, self._arguments, self._pass_fds = machine, arguments, pass_fds
        self.process: psutil.Process
        self.start()

    def start(self) -> None:
        """Start it where it was."""
        self.process = self._machine.start(*self._arguments, pass_fds=self._pass_fds)

    def kill(self) -> None:
        """It and all that came of it, at once."""
        kill_with_children(self.process)

    def log(self) -> str:
        """What it has written, each time."""
        return self._machine.log(self._arguments[0]).read_text(encoding="utf-8", errors="replace")


class Web(Node):
    """A web process; who connects while it is started again waits for it."""

    def __init__(self, machine: Processes, listener: socket.socket) -> None:
        self.port: int = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        number = listener.fileno()
        super().__init__(machine, ("coterie", "serve", "--fd", str(number)), pass_fds=(number,))

    def answers(self) -> bool:
        """Whether it is there, and well."""
        try:
            return httpx.get(f"{self.url}/healthz").is_success
        except httpx.TransportError:
            return False


class Cluster:
    """A platform of as many processes as a test wants.

    Each has a state directory of its own, unless the settings name one that all share.
    """

    def __init__(
        self,
        settings: dict[str, str],
        directory: Path,
        running: ExitStack,
        variables_in: Callable[[Path], Mapping[str, str]] = lambda _directory: {},
    ) -> None:
        """`variables_in` tells what the processes of the machine in a directory have in their environment besides."""
        self.settings = settings
        self._variables_in = variables_in
        self._directory = directory
        self._running = running
        self._machines = 0

    def machine(self) -> Processes:
        """A machine that has nothing yet."""
        self._machines += 1
        directory = self._directory / f"machine-{self._machines}"
        directory.mkdir()
        settings = {"state": str(directory / "state"), **self.settings}
        return Processes(settings, directory, self._running, self._variables_in(directory))

    def web(self) -> Web:
        """A web process at an address of its own."""
        listener = self._running.enter_context(socket.create_server(("127.0.0.1", 0)))
        return Web(self.machine(), listener)

    def worker(self) -> Node:
        """A process that merges and sweeps."""
        return Node(self.machine(), (*CELERY, "worker", "--pool", "threads", "--concurrency", "2"))

    def beat(self) -> Node:
        """One of those of which one keeps the time."""
        machine = self.machine()
        return Node(machine, (*CELERY, "beat", "--schedule", str(machine.directory / "schedule")))
