"""Keeps the server of embedded mode running, and ends it when it ends itself.

``python -m coterie.config.supervisor OPTIONS``: `coterie up` replaces itself by it once it holds the port and the
state.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
from types import FrameType

import msgspec

from coterie.config.announce import GaveUp, Restarting, Stopped, Style, announce
from coterie.config.server_options import REFUSED, ServerOptions
from coterie_wire.structs import from_json

STOP_S = 10.0
"""How long a server may take to stop."""
RESTART_S = 0.2
MAX_RESTART_S = 5.0
NEVER_READY_LIMIT = 3


class SupervisorOptions(msgspec.Struct, frozen=True):
    """The options and descriptors of `coterie up`."""

    listener_fd: int
    lock_fd: int
    url: str
    state: str
    operator: str
    style: Style


class Supervisor:
    """Runs one server after the other on one listening socket, so that clients wait during a restart instead of
    failing.
    """

    def __init__(self, options: SupervisorOptions) -> None:
        self._options = options
        self._server: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()

    def run(self) -> int:
        """Supervise until SIGTERM, SIGINT or too many failures; returns the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        style = self._options.style
        never_ready = 0
        while not self._stopping.is_set():
            status, was_ready = self._run_server()
            if self._stopping.is_set():
                break
            never_ready = 0 if was_ready else never_ready + 1
            if never_ready == NEVER_READY_LIMIT or status == REFUSED:
                announce(GaveUp(status=status, times=never_ready), style)
                return 1
            after_s = min(RESTART_S * 2**never_ready, MAX_RESTART_S)
            announce(Restarting(status=status, after_s=after_s), style)
            self._stopping.wait(after_s)
        announce(Stopped(), style)
        return 0

    def _run_server(self) -> tuple[int, bool]:
        """The exit status of one server, and whether it had been ready."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                self._server = self._start_server(theirs.fileno())
            if self._stopping.is_set():  # a signal arrived before there was a server to pass it to
                self._server.terminate()
            status = self._server.wait()
            ours.setblocking(False)
            try:
                return status, ours.recv(1) == b"r"
            except OSError:
                return status, False

    def _start_server(self, lifeline_fd: int) -> subprocess.Popen[bytes]:
        given = self._options
        options = ServerOptions(
            listener_fd=given.listener_fd,
            lifeline_fd=lifeline_fd,
            url=given.url,
            state=given.state,
            operator=given.operator,
            style=given.style,
        )
        return subprocess.Popen(
            [sys.executable, "-m", "coterie.config.server", msgspec.json.encode(options).decode()],
            # The lock is inherited: it must outlive this process as long as its server does.
            pass_fds=[given.listener_fd, lifeline_fd, given.lock_fd],
            start_new_session=True,  # Ctrl-C reaches the supervisor only
        )

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        again = self._stopping.is_set()
        self._stopping.set()
        server = self._server
        if server is None:
            return
        if again:
            server.kill()
        else:
            server.terminate()
            reaper = threading.Timer(STOP_S, server.kill)
            reaper.daemon = True
            reaper.start()


def become_supervisor(options: SupervisorOptions, environment: dict[str, str]) -> None:
    """Replace this process by a supervisor: the same process id, without the memory that Django takes."""
    for descriptor in (options.listener_fd, options.lock_fd):
        os.set_inheritable(descriptor, True)
    command = [sys.executable, "-m", "coterie.config.supervisor", msgspec.json.encode(options).decode()]
    os.execve(command[0], command, environment)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    sys.exit(Supervisor(from_json(sys.argv[1], SupervisorOptions)).run())
